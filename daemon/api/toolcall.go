package api

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/tools"
)

// Outcome is what a call of a tool answers; hob tool --json prints it.
type Outcome struct {
	Success bool       `json:"success"`
	Result  any        `json:"result,omitempty"` // the typed result
	Message string     `json:"message"`          // what the model would read; of an error the sentence alone
	Error   tools.Code `json:"error,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

// Missing is a tool that cannot work here; in a list it stands among those that can.
type Missing struct {
	tools.Spec
	Why string `json:"missing,omitempty"` // what it needs and does not find
}

func outcome(r tools.Result) Outcome {
	if r.IsError {
		return Outcome{Error: r.Code, Message: sentence(r), Hint: r.Hint}
	}
	return Outcome{Success: true, Result: r.Data, Message: r.Content}
}

// sentence is the text of an error without its code and its hint, which stand beside it.
func sentence(r tools.Result) string {
	text := strings.TrimPrefix(r.Content, string(r.Code)+": ")
	if r.Hint != "" {
		text = strings.Replace(text, "\nhint: "+r.Hint, "", 1)
	}
	return text
}

// listTools lists the tools; with all=1 also those that are missing.
func (a *api) listTools(w http.ResponseWriter, r *http.Request) {
	list := []Missing{}
	for _, s := range a.Tools.Specs() {
		list = append(list, Missing{Spec: s})
	}
	if r.URL.Query().Get("all") == "1" {
		list = append(list, a.Tools.Missing()...)
	}
	a.reply(w, r, http.StatusOK, list)
}

func (a *api) showTool(w http.ResponseWriter, r *http.Request) {
	spec, err := a.spec(r.PathValue("name"))
	a.answer(w, r, spec, err)
}

func (a *api) spec(name string) (tools.Spec, error) {
	for _, s := range a.Tools.Specs() {
		if s.Name == name {
			return s, nil
		}
	}
	for _, m := range a.Tools.Missing() {
		if m.Name == name {
			return tools.Spec{}, event.NewFault(event.Missing, "", "the tool %q cannot work here: %s", name, m.Why)
		}
	}
	return tools.Spec{}, event.NewFault(event.Missing, "list them with: hob tool list", "there is no tool %q", name)
}

func (a *api) callTool(w http.ResponseWriter, r *http.Request) {
	in := struct {
		Input   json.RawMessage `json:"input"`
		Workdir string          `json:"workdir"`
		Approve string          `json:"approve"`
	}{Input: json.RawMessage(`{}`)}
	if err := decode(r, &in); err != nil {
		a.fail(w, r, err)
		return
	}
	name := r.PathValue("name")
	if in.Workdir != "" && !filepath.IsAbs(in.Workdir) {
		a.fail(w, r, event.NewFault(event.Invalid, "", "workdir %q is not an absolute path", in.Workdir))
		return
	}
	res, err := a.Tools.Call(r.Context(), ToolCall{Name: name, Args: in.Input, Workdir: in.Workdir, Approve: in.Approve})
	a.answer(w, r, outcome(res), err)
}
