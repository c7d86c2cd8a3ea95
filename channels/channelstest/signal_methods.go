package channelstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Error codes of the daemon's JSON-RPC handler.
const (
	signalUserError = -1
	signalNoMethod  = -32601
	signalBadParams = -32602
)

// signalRefusal is an error of JSON-RPC.
type signalRefusal struct {
	code int
	why  string
	data any
}

func (f *Signal) rpc(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	var q struct { // params are an object or none (JSON-RPC 2.0, section 4.2)
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 64<<20)).Decode(&q); err != nil || q.Version != "2.0" || q.ID == nil || string(q.Params) == "null" {
		reply(w, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32600, "message": "no request"}})
		return
	}
	fault := f.fault(q.Method)
	switch {
	case fault.Status != 0:
		w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		w.WriteHeader(fault.Status)
		return
	case fault.Cut == "before":
		hangUp(w)
		return
	case fault.Raw != "":
		_, _ = io.WriteString(w, fault.Raw) // the reader may be gone
		return
	case fault.Code != 0:
		reply(w, map[string]any{"jsonrpc": "2.0", "id": q.ID, "error": map[string]any{"code": fault.Code, "message": "scripted", "data": fault.data()}})
		return
	case fault.Result != "":
		reply(w, map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": fault.response()})
		return
	}
	result, no := f.method(q.Method, q.Params)
	switch {
	case fault.Cut == "after":
		hangUp(w)
	case no != nil:
		reply(w, map[string]any{"jsonrpc": "2.0", "id": q.ID, "error": map[string]any{"code": no.code, "message": no.why, "data": no.data}})
	default:
		reply(w, map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": result})
	}
}

func (s SignalFault) data() any {
	if s.Result == "" {
		return nil
	}
	return map[string]any{"response": s.response()}
}

// response returns a send's answer with one result for each word of Result.
func (s SignalFault) response() map[string]any {
	var results []map[string]any
	for kind := range strings.FieldsSeq(s.Result) {
		r := map[string]any{"recipientAddress": map[string]any{"uuid": "x"}, "type": kind}
		if s.RetryAfter > 0 {
			r["token"], r["retryAfterSeconds"] = "t0ken", s.RetryAfter
		}
		results = append(results, r)
	}
	return map[string]any{"timestamp": 1, "results": results}
}

// method carries out a method.
func (f *Signal) method(name string, raw json.RawMessage) (any, *signalRefusal) {
	var p struct {
		Account   string   `json:"account"`
		Recipient any      `json:"recipient"`
		Group     string   `json:"groupId"`
		Message   string   `json:"message"`
		Styles    []string `json:"textStyle"`
		QuoteAt   int64    `json:"quoteTimestamp"`
		QuoteOf   string   `json:"quoteAuthor"`
		ID        string   `json:"id"`
		Files     []string `json:"attachments"`
	}
	if err := json.Unmarshal(raw, &p); err != nil && raw != nil {
		return nil, &signalRefusal{code: -32600, why: err.Error()}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if name != "listAccounts" && p.Account != f.account {
		return nil, &signalRefusal{code: signalBadParams, why: "Specified account does not exist"}
	}
	switch name {
	case "listAccounts":
		if f.listed == nil {
			return nil, &signalRefusal{code: signalNoMethod, why: "Method not implemented"}
		}
		return f.listed, nil
	case "getUserStatus":
		if f.anonymous {
			return nil, &signalRefusal{code: -3, why: "rate limited"}
		}
		return []map[string]any{{"recipient": f.account, "number": f.account, "uuid": SignalSelf, "isRegistered": true}}, nil
	case "listGroups":
		return f.groups, nil
	case "getAttachment":
		data, ok := f.files[p.ID]
		if !ok || (p.Group == "") == (p.Recipient == nil) {
			return nil, &signalRefusal{code: signalUserError, why: "Could not find attachment"}
		}
		return map[string]any{"data": data}, nil
	}
	to, no := signalTarget(p.Recipient, p.Group)
	switch {
	case no != nil:
		return nil, no
	case name == "sendTyping":
		f.signs = append(f.signs, to)
		return map[string]any{}, nil
	case name != "send":
		return nil, &signalRefusal{code: signalNoMethod, why: "Method not implemented"}
	}
	if why := signalStyles(p.Message, p.Styles); why != "" && (p.Message != "" || len(p.Files) == 0) {
		return nil, &signalRefusal{code: signalUserError, why: why}
	}
	if to == SignalNobody {
		return SignalFault{Result: "UNREGISTERED_FAILURE"}.response(), nil
	}
	f.newest++
	f.enter(SignalSent{f.newest, to, p.Message, p.Styles, p.QuoteAt, p.QuoteOf, p.Files})
	return map[string]any{"timestamp": f.newest, "results": []map[string]any{{"recipientAddress": map[string]any{"uuid": to}, "type": "SUCCESS"}}}, nil
}

// Anonymous makes getUserStatus return nothing.
func (f *Signal) Anonymous() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.anonymous = true
}

// SignalNobody is an account id that nobody has.
const SignalNobody = "99999999-9999-4999-8999-999999999999"

// signalTarget returns the single target of a message.
func signalTarget(recipient any, group string) (string, *signalRefusal) {
	list, _ := recipient.([]any)
	switch {
	case group != "" && len(list) == 0:
		return group, nil
	case group == "" && len(list) == 1:
		return fmt.Sprint(list[0]), nil
	}
	return "", &signalRefusal{code: signalUserError, why: "No recipients given"}
}

// signalStyles returns what is wrong with a text and its styles.
func signalStyles(text string, styles []string) string {
	if text == "" || len(text) > 2000 {
		return "Sending empty message is not allowed, or it is too long"
	}
	form := regexp.MustCompile(`^(\d+):(\d+):(BOLD|ITALIC|STRIKETHROUGH|MONOSPACE|SPOILER)$`)
	for _, s := range styles {
		m := form.FindStringSubmatch(s)
		if m == nil {
			return "Invalid textStyle syntax (" + s + ")"
		}
		start, _ := strconv.Atoi(m[1])  // digits
		length, _ := strconv.Atoi(m[2]) // digits
		if start+length > len(utf16.Encode([]rune(text))) {
			return "a style behind the end"
		}
	}
	return ""
}
