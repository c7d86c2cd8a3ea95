package server

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/tools"
)

// outcome turns the result of a tool into the answer of the API: the data for programs, and the text that a
// model would read.
func outcome(r tools.Result) (api.Outcome, error) {
	if r.IsError {
		return api.Outcome{Error: r.Code, Message: sentence(r), Hint: r.Hint}, nil
	}
	o := api.Outcome{Success: true, Message: r.Content}
	if r.Data == nil {
		return o, nil
	}
	var err error
	o.Result, err = json.Marshal(r.Data)
	return o, err
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
func (h *handler) listTools(w http.ResponseWriter, r *http.Request) {
	list := []api.Tool{}
	for _, s := range h.Tools.Specs() {
		list = append(list, api.Tool{Spec: s})
	}
	if r.URL.Query().Get("all") == "1" {
		list = append(list, h.Tools.Missing()...)
	}
	h.reply(w, r, http.StatusOK, list)
}

// showTool serves the description of one tool.
func (h *handler) showTool(w http.ResponseWriter, r *http.Request) {
	spec, err := h.spec(r.PathValue("id"))
	h.answer(w, r, spec, err)
}

// spec finds a tool. One that cannot work here gets an error that says what it lacks.
func (h *handler) spec(name string) (tools.Spec, error) {
	for _, s := range h.Tools.Specs() {
		if s.Name == name {
			return s, nil
		}
	}
	for _, m := range h.Tools.Missing() {
		if m.Name == name {
			return tools.Spec{}, event.NewFault(event.Missing, "", "the tool %q cannot work here: %s", name, m.Why)
		}
	}
	return tools.Spec{}, event.NewFault(event.Missing, "list them with: hob tool list", "there is no tool %q", name)
}

// callTool serves a call from the command line. Relative paths in its input mean the folder of the caller, so
// that must be absolute.
func (h *handler) callTool(w http.ResponseWriter, r *http.Request) {
	// An empty body is a call without arguments.
	in := api.ToolCall{Input: json.RawMessage(`{}`)}
	if err := decode(r, &in); err != nil {
		h.fail(w, r, err)
		return
	}
	name := r.PathValue("id")
	if in.Workdir != "" && !filepath.IsAbs(in.Workdir) {
		h.fail(w, r, event.NewFault(event.Invalid, "", "workdir %q is not an absolute path", in.Workdir))
		return
	}
	res, err := h.Tools.Call(r.Context(), name, in)
	var out api.Outcome
	if err == nil {
		out, err = outcome(res)
	}
	h.answer(w, r, out, err)
}
