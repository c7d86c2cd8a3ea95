package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hob/daemon/netguard"
	"hob/daemon/secret"
	"hob/daemon/text"
	"hob/tools"
)

// HTTPInput is the input of http.
type HTTPInput struct {
	Method  string            `json:"method" jsonschema:"what to do" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS"`
	URL     string            `json:"url" jsonschema:"address" min:"1"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"header fields; secret:NAME in a value stands for a secret of the config"`
	Body    string            `json:"body,omitempty" jsonschema:"what to send" max:"1000000"`
}

// HTTPOutput is the output of http.
type HTTPOutput struct {
	URL     string            `json:"url" jsonschema:"address that answered"`
	Status  int               `json:"status" jsonschema:"HTTP status"`
	Headers map[string]string `json:"headers" jsonschema:"header fields, without cookies"`
	Type    string            `json:"type,omitempty" jsonschema:"media type of the body"`
	Bytes   int               `json:"bytes" jsonschema:"size of the body, unpacked"`
	Body    string            `json:"body,omitempty" jsonschema:"the body, when it is a text"`
	Moved   string            `json:"moved,omitempty" jsonschema:"where a redirect leads that was not followed"`
}

// HTTPDeps holds the dependencies of http.
type HTTPDeps struct {
	Client  *netguard.Client
	Secrets map[string]Secret // [tools.web.secrets]
	Resolve Resolve
}

// NewHTTP builds the tool http, which makes one request to an API. Only GET and HEAD may be
// repeated.
func NewHTTP(d HTTPDeps) tools.Tool {
	h := asker{d}
	return tools.New[HTTPInput, HTTPOutput](tools.Spec{
		Name: "http", Group: "web", Positional: "url", Example: "https://api.example.org/v1/items --method GET",
		Description: "Ask an API: method, headers, body. Answers with status and body as they are. A header value secret:NAME is filled in.",
	}, h.intent, h.run)
}

// asker implements http.
type asker struct{ HTTPDeps }

// intent names the address. Only a plain GET or HEAD, without body and header fields, can be
// approved by its address alone.
func (h asker) intent(_ context.Context, _ tools.Call, in HTTPInput) (tools.Intent, error) {
	t, names, err := h.look(in)
	if err != nil {
		return tools.Intent{}, err
	}
	// Once: after a crash the call is not repeated, because its request may have had an effect.
	effect := tools.Once
	if in.Method == http.MethodGet || in.Method == http.MethodHead {
		effect = tools.Read
	}
	summary := in.Method + " " + text.Shorten(t.link, 200)
	if len(names) > 0 {
		summary += " with the secret " + strings.Join(names, ", ")
	}
	if in.Body != "" {
		summary += ", sending " + sized(len(in.Body))
	}
	canonical, err := tools.Canonical(struct {
		Tool    string            `json:"tool"`
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
		Body    string            `json:"body,omitempty"`
	}{"http", in.Method, t.link, in.Headers, in.Body})
	if effect == tools.Read && in.Body == "" && len(in.Headers) == 0 {
		return asking(t, effect, summary, canonical, t.link), err
	}
	return asking(t, effect, summary, canonical), err // the address alone does not show everything that it sends
}

// look checks everything about a call that needs no request, and returns the names of its secrets.
func (h asker) look(in HTTPInput) (target, []string, error) {
	t, err := targetOf(in.URL)
	if err != nil {
		return target{}, nil, err
	}
	header := headerOf(in.Headers)
	// The client checks this again. Here the model gets the error before anybody is asked for approval.
	if err := netguard.CheckHeader(header); err != nil {
		return target{}, nil, tools.Refuse(tools.Validation, "", "headers: %v", err)
	}
	// Names of header fields are not case-sensitive (RFC 9110, section 5.1). One of the two values would be lost.
	if len(header) < len(in.Headers) {
		return target{}, nil, tools.Refuse(tools.Validation, "join the values with a comma", "headers: one of them occurs twice, in two spellings")
	}
	if err := placeholders(in); err != nil {
		return target{}, nil, err
	}
	names, err := h.handles(in, t)
	return t, names, err
}

// placeholders refuses to send a placeholder that hob put in place of a secret.
func placeholders(in HTTPInput) error {
	const hint = "it stands for a value that you were not shown; secret:NAME in a header value stands for a secret of the config"
	if name := secret.Placeholder(nil, []byte(in.Body)); name != "" {
		return tools.Refuse(tools.Validation, hint, "body: it holds the placeholder %s", name)
	}
	for _, field := range slices.Sorted(maps.Keys(in.Headers)) {
		if name := secret.Placeholder(nil, []byte(in.Headers[field])); name != "" {
			return tools.Refuse(tools.Validation, hint, "headers: %s holds the placeholder %s", field, name)
		}
	}
	return nil
}

// headerOf converts the header fields of a call.
func headerOf(fields map[string]string) http.Header {
	h := http.Header{}
	for name, v := range fields {
		h.Set(name, v)
	}
	return h
}

// run fills in the secrets, sends the request, and removes the secrets from the answer.
func (h asker) run(ctx context.Context, _ tools.Call, in HTTPInput, _ tools.Intent) (tools.Result, error) {
	t, names, err := h.look(in)
	if err != nil {
		return tools.Result{}, err
	}
	hide := &secret.Redactor{}
	// The values exist only in this function. hide removes them from everything that comes back.
	fields, err := h.filled(ctx, in.Headers, names, hide)
	if err != nil {
		return tools.Result{}, err
	}
	answer, err := h.Client.Do(ctx, netguard.Request{Method: in.Method, Link: t.link, Header: headerOf(fields), Body: []byte(in.Body), Private: t.private})
	if err != nil {
		return unsure(ctx, in, hide, err)
	}
	// Every status is a result: the model reads the errors of an API itself.
	reply := replyOf(answer, hide)
	return tools.Result{Content: reply.text(), Data: reply}, nil
}

// unsure distinguishes a request that was not sent from one with a lost answer.
func unsure(ctx context.Context, in HTTPInput, hide *secret.Redactor, err error) (tools.Result, error) {
	e, ok := errors.AsType[*netguard.Error](err)
	if ok && e.Sent && in.Method != http.MethodGet && in.Method != http.MethodHead {
		return tools.Fail(tools.OutcomeUnknown, "look whether it took effect before you repeat it", "the request was sent, and no whole answer came: %s", hide.Text(err.Error())), nil
	}
	res, err := unanswered(ctx, err, "")
	res.Content = hide.Text(res.Content)
	return res, err
}

// replyOf converts an answer, without cookies and secrets.
func replyOf(answer netguard.Answer, hide *secret.Redactor) HTTPOutput {
	r := HTTPOutput{URL: hide.Text(answer.Link), Status: answer.Status, Headers: map[string]string{}, Bytes: len(answer.Body), Moved: hide.Text(answer.Moved)}
	for name, values := range answer.Header {
		// A session cookie is a credential, and hob keeps none.
		if name != "Set-Cookie" {
			r.Headers[strings.ToLower(name)] = hide.Text(strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD"))
		}
	}
	if len(answer.Body) == 0 {
		return r
	}
	text, kind := body(answer.Header.Get("Content-Type"), answer.Body)
	r.Type, r.Body = kind, hide.Text(text)
	return r
}

// shown reports whether a header field matters to a model.
func shown(name string) bool {
	switch name {
	case "content-type", "location", "link", "etag", "last-modified", "retry-after", "www-authenticate", "allow":
		return true
	}
	return strings.HasPrefix(name, "x-ratelimit") || strings.HasPrefix(name, "ratelimit")
}

// text formats the reply for the model.
func (r HTTPOutput) text() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(fmt.Sprintf("HTTP %d %s", r.Status, http.StatusText(r.Status))) + "\n")
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if shown(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, text.Shorten(r.Headers[name], 500))
		}
	}
	switch {
	case r.Moved != "":
		fmt.Fprintf(&b, "\n(it redirects to %s, which was not followed)", r.Moved)
	case r.Bytes == 0:
		b.WriteString("\n(no body)")
	// The body of other types is dropped: this tool stores nothing.
	case r.Body == "":
		fmt.Fprintf(&b, "\n(the body is not text but %s, %s)", r.Type, sized(r.Bytes))
	default:
		b.WriteString("\n" + r.Body)
	}
	return b.String()
}
