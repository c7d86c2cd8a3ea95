package control

import (
	"encoding/json"
	"net/http"
	"path/filepath"

	"hob/daemon/event"
	"hob/tools"
)

// Outcome is what a call of a tool answers; hob tool --json prints it.
type Outcome struct {
	Success bool       `json:"success"`
	Result  any        `json:"result,omitempty"` // the typed result
	Message string     `json:"message"`          // what the model would read
	Error   tools.Code `json:"error,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

func outcome(r tools.Result) Outcome {
	if r.IsError {
		return Outcome{Error: r.Code, Message: r.Content, Hint: r.Hint}
	}
	return Outcome{Success: true, Result: r.Data, Message: r.Content}
}

func (a *api) listTools(w http.ResponseWriter, r *http.Request) {
	specs := a.Tools.Specs()
	if specs == nil {
		specs = []tools.Spec{}
	}
	a.reply(w, r, http.StatusOK, specs)
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
	spec, err := a.spec(r.PathValue("name"))
	if err == nil && in.Workdir != "" && !filepath.IsAbs(in.Workdir) {
		err = event.NewFault(event.Invalid, "", "workdir %q is not an absolute path", in.Workdir)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	res, err := a.Tools.Call(r.Context(), ToolCall{Name: spec.Name, Args: in.Input, Workdir: in.Workdir, Approve: in.Approve})
	a.answer(w, r, outcome(res), err)
}
