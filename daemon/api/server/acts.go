package server

import (
	"net/http"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
)

// act serves one verb. Its body is an object of texts, or nothing.
func (h *handler) act(resource, verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		args := map[string]string{}
		if err := decode(r, &args); err != nil {
			h.fail(w, r, err)
			return
		}
		if err := checkArgs(resource, verb, args); err != nil {
			h.fail(w, r, err)
			return
		}
		out, err := h.Acts.Act(r.Context(), api.Act{Resource: resource, ID: r.PathValue("id"), Verb: verb, Args: args})
		if out == nil {
			out = struct{}{}
		}
		h.answer(w, r, out, err)
	}
}

// knownArgs says what each verb may be told; "!" marks what it must be told.
func knownArgs(resource, verb string) []string {
	switch resource + " " + verb {
	case "questions approve":
		return []string{"scope"}
	case "questions answer":
		return []string{"!text"}
	case "budget set":
		return []string{"per_day", "tokens_per_day", "config"}
	case "hooks add":
		return []string{"!prompt", "kind", "secret", "old_secret", "deliver", "allow", "per_minute", "max_body", "tolerance", "once", "header"}
	case "hooks rotate":
		return []string{"secret", "done"}
	case "hooks test":
		return []string{"body", "headers"}
	case "channels test":
		return []string{"send"}
	case "model finish":
		return []string{"!address"}
	case "marks accept":
		return []string{"!path", "hash"}
	case "backup create":
		return []string{"path"}
	}
	return nil
}

func checkArgs(resource, verb string, args map[string]string) error {
	known := map[string]bool{}
	for _, k := range knownArgs(resource, verb) {
		name, must := strings.CutPrefix(k, "!")
		known[name] = true
		if must && strings.TrimSpace(args[name]) == "" {
			return event.NewFault(event.Invalid, "", "%s: %q is missing", verb, name)
		}
	}
	for name := range args {
		if !known[name] {
			return event.NewFault(event.Invalid, "", "%s: there is no argument %q", verb, name)
		}
	}
	return checkScope(args)
}

func checkScope(args map[string]string) error {
	switch s, given := args["scope"]; {
	case !given, s == "once", s == "turn", s == "always":
		return nil
	default:
		return event.NewFault(event.Invalid, "", "scope %q is not once, turn or always", s)
	}
}
