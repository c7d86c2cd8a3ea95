package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// New builds a tool from two functions. In is a struct with tags that describe the parameters (see
// deriveSchema), Out the struct type of Result.Data. spec needs name, group and description; New
// adds both schemas (see generatedSchemas). The functions get decoded, valid arguments. A panic in them becomes an error,
// and run is not called with a cancelled context. A wrong spec or tag is a programmer's mistake and
// panics: the tests derive all schemas.
func New[In, Out any](
	spec Spec,
	intent func(context.Context, Call, In) (Intent, error),
	run func(context.Context, Call, In, Intent) (Result, error),
) Tool {
	return build[In, Out](spec, intent, run)
}

// NewCheckable is New for a tool that can find out whether an interrupted run took effect. The
// result is a Prober.
func NewCheckable[In, Out any](
	spec Spec,
	intent func(context.Context, Call, In) (Intent, error),
	run func(context.Context, Call, In, Intent) (Result, error),
	probe func(context.Context, Call, In, Intent) (done bool, err error),
) Tool {
	return checkable[In, Out]{build[In, Out](spec, intent, run), probe}
}

// Needing returns t as an Available tool, which can work while there is true. missing says what it needs and how to get that.
func Needing(t Tool, missing string, there func() bool) Tool { return needing{t, missing, there} }

// needing is the tool that Needing returns.
type needing struct {
	Tool
	missing string
	there   func() bool
}

// Missing says what the tool needs; "" if that is there.
func (n needing) Missing() string {
	if n.there() {
		return ""
	}
	return n.missing
}

// made is a tool that New has built.
type made[In, Out any] struct {
	spec   Spec
	params func() *jsonschema.Schema // derived at the first call
	intent func(context.Context, Call, In) (Intent, error)
	run    func(context.Context, Call, In, Intent) (Result, error)
}

// checkable is a made tool with a probe.
type checkable[In, Out any] struct {
	*made[In, Out]
	probe func(context.Context, Call, In, Intent) (bool, error)
}

// build checks the spec and adds the schemas.
func build[In, Out any](
	spec Spec,
	intent func(context.Context, Call, In) (Intent, error),
	run func(context.Context, Call, In, Intent) (Result, error),
) *made[In, Out] {
	if spec.Name == "" || spec.Group == "" || spec.Description == "" {
		panic(fmt.Sprintf("tools: tool %q needs name, group and description", spec.Name))
	}
	t := &made[In, Out]{spec: spec, intent: intent, run: run}
	types := toolTypes{spec.Name, reflect.TypeFor[In](), reflect.TypeFor[Out]()}
	types.addTo(&t.spec)
	t.params = sync.OnceValue(types.params)
	return t
}

// mustSchema derives a schema, or panics: a wrong struct tag is a programmer's mistake.
func mustSchema(tool string, t reflect.Type) *jsonschema.Schema {
	s, err := deriveSchema(t)
	if err != nil {
		panic(fmt.Sprintf("tools: tool %s: %v", tool, err))
	}
	return s
}

// mustEncode encodes a schema, or panics.
func mustEncode(tool string, s *jsonschema.Schema) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tools: tool %s: %v", tool, err))
	}
	return raw
}

// Spec returns the tool's description with both schemas.
func (t *made[In, Out]) Spec() Spec { return t.spec }

// parameters returns the schema of the input, so that Validate need not parse it for each call.
func (t *made[In, Out]) parameters() *jsonschema.Schema { return t.params() }

// further applies the rules of In itself, see Checked.
func (t *made[In, Out]) further(value map[string]any, faults []fault) []fault {
	return further[In](t.parameters().Required, value, faults)
}

// Intent decodes the arguments and asks the tool what the call would touch.
func (t *made[In, Out]) Intent(ctx context.Context, call Call) (i Intent, err error) {
	defer caught(t.spec.Name, &err)
	in, err := decode[In](t.spec.Name, t.parameters(), call.Args)
	if err != nil {
		return Intent{}, err
	}
	return t.intent(ctx, call, in)
}

// Run decodes the arguments and carries out the call. It returns every error as an error result.
func (t *made[In, Out]) Run(ctx context.Context, call Call, intent Intent) (Result, error) {
	res, err := t.carry(ctx, call, intent)
	if err != nil {
		return ErrorResult(err), nil
	}
	return res, nil
}

// carry is Run without the conversion of errors.
func (t *made[In, Out]) carry(ctx context.Context, call Call, intent Intent) (res Result, err error) {
	defer caught(t.spec.Name, &err)
	in, err := decode[In](t.spec.Name, t.parameters(), call.Args)
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	res, err = t.run(ctx, call, in, intent)
	if err != nil {
		return Result{}, err
	}
	if _, ok := res.Data.(Out); !ok && res.Data != nil {
		return Result{}, fmt.Errorf("%s: result data is a %T, not what its output schema says", t.spec.Name, res.Data)
	}
	return res, nil
}

// Probe reports whether an interrupted run took effect.
func (t checkable[In, Out]) Probe(ctx context.Context, call Call, intent Intent) (done bool, err error) {
	defer caught(t.spec.Name, &err)
	in, err := decode[In](t.spec.Name, t.parameters(), call.Args)
	if err != nil {
		return false, err
	}
	return t.probe(ctx, call, in, intent)
}

// caught turns a panic into an error.
func caught(tool string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: internal error: %v", tool, p)
	}
}

// decode checks args against the schema, applies the defaults and decodes the result.
func decode[In any](tool string, s *jsonschema.Schema, args json.RawMessage) (In, error) {
	var in In
	value, faults := inspect(s, args)
	if len(faults) > 0 {
		faults = append(faults, further[In](s.Required, value, faults)...)
		return in, &refusal{res: faultResult(tool, s, faults)}
	}
	fillDefaults(s, value)
	clean, err := json.Marshal(value)
	if err != nil {
		return in, fmt.Errorf("%s: encode arguments: %w", tool, err)
	}
	if err := json.Unmarshal(clean, &in); err != nil {
		return in, Refuse(Validation, "", "%s: %v", tool, err)
	}
	return in, nil
}

// fillDefaults sets the parameters that were left out.
func fillDefaults(s *jsonschema.Schema, value map[string]any) {
	for name, p := range s.Properties {
		if _, given := value[name]; !given && p.Default != nil {
			value[name] = p.Default
		}
	}
}

// Refuse returns an error that carries an error result. Use it in Intent and in code below a tool.
// ErrorResult returns the result again.
func Refuse(code Code, hint, format string, args ...any) error {
	return &refusal{Fail(code, hint, format, args...), fmt.Sprintf(format, args...)}
}

// refusal is the error of Refuse.
type refusal struct {
	res  Result
	text string
}

// Refusal takes an error of Refuse apart, for those who show it to a person. ok is false for other errors.
func Refusal(err error) (code Code, text, hint string, ok bool) {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return "", "", "", false
	}
	return r.res.Code, r.text, r.res.Hint, true
}

// Sentence is the text of an error without the code and the hint that Refuse adds.
func Sentence(err error) string {
	if _, text, _, ok := Refusal(err); ok {
		return text
	}
	return err.Error()
}

// Error returns the text for the model.
func (r *refusal) Error() string { return r.res.Content }

// ErrorResult converts an error of Intent or Run into the result for the model: the result of
// Refuse, CANCELLED or TIMEOUT for an ended context, UNKNOWN with the error's text for anything
// else.
func ErrorResult(err error) Result {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.res
	}
	if errors.Is(err, context.Canceled) {
		return Fail(Cancelled, "", "the turn was stopped before this call ended")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Fail(Timeout, "", "the turn's time is over")
	}
	return Fail(Unknown, "", "%v", err)
}

// Canonical returns the bytes that an approval shows and hashes: JSON in field order, without HTML
// escapes.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode canonical bytes: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// CanonicalCall is Canonical for a call of which everything counts: the name of the tool, and then the members of its input, a struct.
func CanonicalCall(tool string, in any) ([]byte, error) {
	raw, err := Canonical(in)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"tool":%q`, tool)
	if string(raw) != "{}" {
		head = append(head, ',')
	}
	return append(head, raw[1:]...), nil
}
