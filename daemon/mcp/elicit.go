package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/tools"
)

// Limits of the questions of a server (elicitation).
const (
	askedFor   = 10 * time.Minute
	maxAsked   = 5    // questions of one call
	maxAnswers = 5    // answers to one form
	maxFields  = 20   // of one question
	maxMessage = 1500 // characters of its words
)

// Answers of the owner that are no data, and the protocol's words.
const (
	declines, leavesOut, opened = "decline", "ok", "I have opened it"
	accept, decline, dismiss    = "accept", "decline", "cancel"
	elicitForm, elicitByVisit   = "form", "url"
)

// Asking puts the questions of servers to the owner, and ends the questions about sign-ins.
type Asking interface {
	// AskForServer opens a question for a running call.
	AskForServer(ctx context.Context, q api.MCPQuestion) (id int64, err error)
	// ServerAnswer returns the answer; open: there is none yet; neither: there will be none.
	ServerAnswer(ctx context.Context, id int64) (answer string, answered, open bool, err error)
	// CloseForServer closes a question without an answer.
	CloseForServer(ctx context.Context, id int64) error
	// AnswerSignIn answers the open questions whose links have one of these states; closed is their number. in is the message with the
	// answer, without it; zero: there is none.
	AnswerSignIn(ctx context.Context, in event.In, states []string, answer string) (r event.Receipt, closed int, err error)
}

// Questions are how servers ask the owner.
type Questions struct {
	Rows     Asking
	Answered func() <-chan struct{} // is closed when a question was closed
	Owner    func() []event.Address // the owner's addresses
}

// elicitation are the capabilities of a client that asks the owner.
func elicitation() *sdk.ElicitationCapabilities {
	return &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
}

// elicit puts a question of the server to the owner. It is asked for a call that runs. A server that asks without one, or while several calls
// could be meant, gets no answer: what one conversation is asked must not reach another one.
// It is called instead of the SDK's own handler, which compares the answer with the schema as the server wrote it, however that refers to itself.
func (s *session) elicit(ctx context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	r := s.asker(ctx)
	if r == nil || p == nil || r.asked.Add(1) > maxAsked {
		return &sdk.ElicitResult{Action: dismiss}, nil
	}
	r.asking.Add(1)
	defer r.asking.Add(-1)
	r.one.Lock() // one question after the other
	defer r.one.Unlock()
	until := s.server.svc.Clock.Wall().Add(askedFor)
	q := question{session: s, call: r.call, until: until, over: r.over}
	switch {
	case p.Mode == elicitByVisit || p.URL != "":
		return q.visit(ctx, p)
	case p.Mode == elicitForm || p.Mode == "":
		return q.form(ctx, p)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "hob has no such mode of elicitation"}
}

// callKey is the key of the running call in the context of its request.
type callKey struct{}

// asker returns the call that a question belongs to; nil: it is not known. A question that came as the answer to a request belongs to that one.
// Others name none, so they belong to a call only if it is the only one.
func (s *session) asker(ctx context.Context) *running {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) > 1 {
		s.server.svc.Log.Warn("a question of an MCP server was not asked: several calls run, and it names none", "server", s.server.name)
		return nil
	}
	for _, r := range s.calls {
		return r
	}
	return nil
}

// question is a question of a server that is open.
type question struct {
	session *session
	call    tools.Call
	until   time.Time
	over    <-chan struct{} // closed when the call ends
}

// ask shows a text and waits for the owner's answer. ok is false if there is none: the time is up, or the call was stopped.
func (q question) ask(ctx context.Context, text string, options []string) (answer string, ok bool, err error) {
	svc := q.session.server.svc
	asked := api.MCPQuestion{Turn: q.call.Turn, CallID: q.call.ID, Text: text, Options: options, To: event.ToOwner, Until: q.until}
	if to := q.call.ReplyTo; q.call.Trust == event.Owner && (to == event.CLI || slices.Contains(svc.Questions.Owner(), to)) {
		asked.To = to // the chat that the call was made for
	}
	id, err := svc.Questions.Rows.AskForServer(ctx, asked)
	if err != nil {
		return "", false, err
	}
	alarm := svc.Clock.Timer(max(q.until.Sub(svc.Clock.Wall()), 0))
	defer alarm.Stop()
	for {
		closed := svc.Questions.Answered()
		answer, answered, open, err := svc.Questions.Rows.ServerAnswer(context.WithoutCancel(ctx), id)
		if err != nil || !open {
			return strings.TrimSpace(answer), answered, err
		}
		select {
		case <-closed:
			continue
		case <-ctx.Done():
		case <-q.over:
		case <-alarm.C:
		}
		return "", false, svc.Questions.Rows.CloseForServer(context.WithoutCancel(ctx), id)
	}
}

// visit asks the owner to open an address. hob never opens it.
func (q question) visit(ctx context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	link, host, err := netguard.Canonical(p.URL)
	if err != nil || !strings.HasPrefix(link, "https://") || len(link) > 2<<10 {
		return &sdk.ElicitResult{Action: decline}, nil
	}
	text := fmt.Sprintf("The MCP server %s asks you to open an address of %s. Its own words: %s\n\n%s\n\nI do not open it, and do not see what you do there.", q.session.server.name, host, words(p.Message, maxMessage), link)
	answer, ok, err := q.ask(ctx, text, []string{opened, declines})
	switch {
	case err != nil || !ok:
		return &sdk.ElicitResult{Action: dismiss}, err
	case answer == opened:
		return &sdk.ElicitResult{Action: accept}, nil
	}
	return &sdk.ElicitResult{Action: decline}, nil
}

// form asks the owner for the fields of a schema, again if an answer does not fit, until the time or the number of answers is up.
func (q question) form(ctx context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	schema, names, err := fieldsOf(p.RequestedSchema)
	if err != nil || asksSecret(p.Message, schema, names) {
		q.session.server.svc.Log.Warn("a question of an MCP server was declined", "server", q.session.server.name, "asks_for_a_secret", err == nil, "err", err)
		return &sdk.ElicitResult{Action: decline}, nil
	}
	text, options := formText(q.session.server.name, p.Message, schema, names)
	said := ""
	for range maxAnswers {
		answer, ok, err := q.ask(ctx, said+text, options)
		if err != nil || !ok {
			return &sdk.ElicitResult{Action: dismiss}, err
		}
		if strings.EqualFold(answer, declines) || len(names) == 0 && !isYes(answer) {
			return &sdk.ElicitResult{Action: decline}, nil
		}
		if q.session.server.svc.Redact.Text(answer) != answer {
			said = "That holds a secret that I keep for you, so I did not pass it on.\n"
			continue
		}
		values, err := readForm(schema, names, answer)
		if err == nil {
			return &sdk.ElicitResult{Action: accept, Content: values}, nil
		}
		said = "That does not fit: " + err.Error() + ".\n"
	}
	return &sdk.ElicitResult{Action: dismiss}, nil
}

// choices lists what a field may be; nil: anything of its type.
func choices(f *jsonschema.Schema) (list []string) {
	if f.Type == "boolean" {
		return []string{"yes", "no"}
	}
	if f.Type == "array" && f.Items != nil {
		return choices(f.Items)
	}
	for _, e := range f.Enum {
		list = append(list, fmt.Sprint(e))
	}
	for _, one := range slices.Concat(f.OneOf, f.AnyOf) {
		if one != nil && one.Const != nil {
			list = append(list, fmt.Sprint(*one.Const))
		}
	}
	return list
}

// formText is the question for a form, with the buttons of one that has a single choice.
func formText(server, message string, s *jsonschema.Schema, names []string) (text string, options []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "The MCP server %s asks you something. What is in quotes is its own text, and it gets your answer.\n%s\n", server, words(message, maxMessage))
	for _, n := range names {
		f := s.Properties[n]
		fmt.Fprintf(&b, "- %s", words(n, 100))
		if about := strings.TrimSpace(f.Title + " " + f.Description); about != "" {
			b.WriteString(": " + words(about, 300))
		}
		if list := choices(f); list != nil {
			b.WriteString(", one of " + words(strings.Join(list, " / "), 600))
		}
		switch {
		case len(f.Default) > 0:
			b.WriteString(", " + words(string(f.Default), 100) + " if it is left out")
		case !slices.Contains(s.Required, n):
			b.WriteString(" (may be left out)")
		}
		b.WriteString("\n")
	}
	switch {
	case len(names) == 0:
		return b.String(), []string{"yes", declines}
	case len(names) == 1 && s.Properties[names[0]].Type != "array":
		if list := choices(s.Properties[names[0]]); list != nil && len(list) < 10 {
			return b.String(), append(slices.Clone(list), declines)
		}
		b.WriteString("Answer with the value, or: " + declines)
	case len(names) == 1:
		b.WriteString("Answer with the values, separated by commas, or: " + declines)
	default:
		b.WriteString("Answer with a line for each, NAME: VALUE, or: " + declines)
	}
	if len(s.Required) == 0 {
		b.WriteString(", or leave all out: " + leavesOut)
	}
	return b.String(), nil
}

// words shows a server's text, without links that could be followed.
func words(s string, n int) string { return netguard.Defang(quoted(s, n)) }

// readForm reads the owner's answer as the fields of a form.
func readForm(s *jsonschema.Schema, names []string, answer string) (map[string]any, error) {
	out := map[string]any{}
	given := map[string]string{}
	switch {
	case len(s.Required) == 0 && strings.EqualFold(answer, leavesOut):
	case len(names) == 1:
		given[names[0]] = answer
	default:
		for line := range strings.Lines(answer) {
			name, value, ok := strings.Cut(line, ":")
			i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, strings.Trim(strings.TrimSpace(name), "-“”\" ")) })
			if strings.TrimSpace(line) == "" {
				continue
			}
			if !ok || i < 0 {
				return nil, fmt.Errorf("%s names none of the fields", quoted(line, 60))
			}
			given[names[i]] = strings.TrimSpace(value)
		}
	}
	for n, words := range given {
		value, err := fieldValue(s.Properties[n], words)
		if err != nil {
			return nil, fmt.Errorf("%s %w", quoted(n, 60), err)
		}
		out[n] = value
	}
	for _, n := range s.Required {
		if _, ok := out[n]; !ok {
			return nil, fmt.Errorf("%s is missing", quoted(n, 60))
		}
	}
	for _, n := range names { // the form says what it is if it is left out
		if _, given := out[n]; given || len(s.Properties[n].Default) == 0 {
			continue
		}
		var value any
		if err := json.Unmarshal(s.Properties[n].Default, &value); err != nil {
			return nil, err
		}
		out[n] = value
	}
	if err := fits(s, out); err != nil {
		return nil, errors.New("it is not within the limits of the form")
	}
	return out, nil
}

// fieldValue reads one field.
func fieldValue(f *jsonschema.Schema, words string) (any, error) {
	list := choices(f)
	pick := func(word string) (string, error) {
		for _, c := range list {
			if strings.EqualFold(c, word) {
				return c, nil
			}
		}
		return word, fmt.Errorf("is none of %s", quoted(strings.Join(list, " / "), 300))
	}
	switch f.Type {
	case "boolean":
		if isYes(words) {
			return true, nil
		}
		if _, err := pick(words); err != nil {
			return nil, err
		}
		return false, nil
	case "integer", "number":
		n, err := strconv.ParseFloat(words, 64)
		if err != nil {
			return nil, errors.New("wants a number")
		}
		return n, nil
	case "array":
		values := []any{}
		for _, word := range strings.Split(words, ",") {
			v, err := pick(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return values, nil
	}
	if list != nil {
		return pick(words)
	}
	return words, nil
}

func isYes(word string) bool {
	return strings.EqualFold(word, "yes") || strings.EqualFold(word, "true")
}

// secretParts are parts of the words for secrets, without blanks.
func secretParts() []string {
	return []string{
		"password", "passwd", "passphrase", "passcode", "secret", "token", "credential", "apikey", "privatekey", "authoriz", "cookie", "bearer",
		"2fa", "onetime", "verificationcode", "securitycode", "creditcard", "passwort", "kennwort", "geheim", "contraseñ", "motdepasse", "senha", "парол", "密码", "密碼", "口令", "パスワード", "비밀번호",
	}
}

// secretWords are whole words for secrets that are part of harmless ones, such as keyboard.
func secretWords() []string {
	return []string{"key", "keys", "card", "cards", "iban", "pin", "pins", "tan", "pwd", "pw", "otp", "totp", "mfa", "cvv", "cvc", "ssn", "seed", "mnemonic", "clave", "pass"}
}

// asksSecret reports whether a form wants something that a server must not be told. A field with fixed choices cannot hold a secret.
func asksSecret(message string, s *jsonschema.Schema, names []string) bool {
	free := false
	for _, n := range names {
		f := s.Properties[n]
		if choices(f) != nil {
			continue
		}
		free = true
		for _, words := range []string{n, f.Title, f.Description, f.Format} {
			if namesSecret(words, secretWords()) {
				return true
			}
		}
	}
	return free && namesSecret(message, nil)
}

// namesSecret reports whether a text names a secret: in small letters without what divides words, so that "API-Key", "apiKey" and "pass word"
// are found. whole are words that count only as such.
func namesSecret(text string, whole []string) bool {
	var words, joined strings.Builder
	lower := false
	for _, c := range text {
		switch {
		case unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Mn, c): // seen by nobody
			continue
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			words.WriteByte(' ')
			lower = false
			continue
		case unicode.IsUpper(c) && lower:
			words.WriteByte(' ')
		}
		lower = unicode.IsLower(c) || unicode.IsDigit(c)
		words.WriteRune(unicode.ToLower(c))
		joined.WriteRune(unicode.ToLower(c))
	}
	return slices.ContainsFunc(secretParts(), func(part string) bool { return strings.Contains(joined.String(), part) }) ||
		slices.ContainsFunc(strings.Fields(words.String()), func(word string) bool { return slices.Contains(whole, word) })
}
