package wire

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"hob/daemon/llm"
)

// A server may refuse a request and name the one thing that it does not take: a field, a level of thinking, a role, the sum of input and
// output, the length of an answer. hob changes that, sends the request once more, and remembers it while the model is in use. named.go reads
// what a refusal names, limits.go reads its numbers, rewrite.go changes the body. Every other refusal is final.

// mostAgain limits how often one request is sent again.
const mostAgain = 4

// again is a refusal after which the next form of the request is different.
type again struct {
	refusal *llm.Error
	subject string // what is different
	room    int    // for the next answer, in tokens; 0: as before
}

func (a *again) Error() string { return a.refusal.Error() }
func (a *again) Unwrap() error { return a.refusal }

// Adapt calls try, which encodes and sends a request. If the server refuses something by name, it calls try once more for each such thing.
// A request with a refused status costs nothing and has shown nothing.
func (s *Server) Adapt(r llm.Request, try func(llm.Request) error) error {
	var tried []string
	for {
		asked := s.Limit(r.MaxOutput)
		err := try(r)
		a, ok := errors.AsType[*again](err)
		if !ok || len(tried) == mostAgain || slices.Contains(tried, a.subject) {
			return err
		}
		if a.room > 0 {
			if r.MaxOutput = fitting(asked, a.room); r.MaxOutput == 0 {
				return err
			}
		}
		tried = append(tried, a.subject)
	}
}

// SystemRole returns the role of the system message. If it is "user", the model's template knows no other, and often wants the roles to
// alternate.
func (s *Server) SystemRole() string {
	s.Config.Learned.Lock()
	defer s.Config.Learned.Unlock()
	return cmp.Or(s.Config.Learned.Role, "system")
}

// learn remembers what a refusal names. It returns an *again if the request will be different now, and otherwise the refusal itself.
func (s *Server) learn(e *llm.Error, refused, sent []byte) error {
	list := complaints(refused)
	learned := s.Config.Learned
	learned.Lock()
	defer learned.Unlock()
	switch {
	// A server whose prompt template refuses a role answers 500.
	case e.Status == http.StatusInternalServerError && len(list) == 1 && learnRole(learned, list[0], sent):
		return &again{refusal: e, subject: "role " + learned.Role}
	case e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity:
		return e
	}
	subject := ""
	for _, c := range list {
		switch window, output := c.window(), c.output(); {
		case window >= leastWindow:
			e.Fault, learned.Window, learned.Then = llm.TooLarge, window, learned.Listed
			return &again{e, "window", max(window-c.input(sent), 1)}
		case window == 0 && output >= leastOutput && output < s.Config.MaxOutput:
			learned.Output = output
			return &again{e, "output", output}
		case c.unknown() && slices.Equal(namesIn(c.at), []string{"tools"}):
			e.Fault = llm.NoTools
			return e
		// A validator tries each role in turn, so one of several complaints says nothing.
		case len(list) == 1 && learnRole(learned, c, sent):
			return &again{refusal: e, subject: "role " + learned.Role}
		}
		for _, path := range c.fields() {
			if learnChange(learned, c, path, sent) {
				subject = "field " + path
			}
		}
	}
	if subject == "" {
		return e
	}
	return &again{refusal: e, subject: subject}
}

// learnRole remembers that the role of the system message has another name, or does not exist.
func learnRole(l *llm.Learned, c complaint, sent []byte) bool {
	switch role := l.Role; {
	case role == "user" || !c.refusesSystem() || !bytes.Contains(sent, []byte(`"role":"`+cmp.Or(role, "system")+`"`)):
		return false
	case role == "" && strings.Contains(c.words, "'developer'"):
		l.Role = "developer"
	default:
		l.Role = "user"
	}
	return true
}

// learnChange remembers the change for a field that was refused, if the request had it: the limit of the answer gets its other name, a level
// of thinking the nearest that is offered, and the rest is left out.
func learnChange(l *llm.Learned, c complaint, path string, sent []byte) bool {
	next := llm.Change{At: path}
	if strings.HasSuffix(path, "effort") {
		next.Offered = c.offered()
	}
	if other := map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[path]; other != "" &&
		!slices.ContainsFunc(l.Changes, func(old llm.Change) bool { return old.At == other }) {
		next.Name = other
	}
	if _, changed := apply(next, sent); !changed {
		return false
	}
	l.Changes = append(slices.DeleteFunc(l.Changes, func(old llm.Change) bool { return old.At == path }), next)
	return true
}

// fitting returns the limit of an answer for which a request has so much room: what was asked for, the half of it, and so on; below a usual
// length, all that is left. 0 means that no shorter answer helps.
func fitting(asked, room int) int {
	if room >= asked || room < leastOutput {
		return 0
	}
	for asked > room && asked/2 >= usualOutput {
		asked /= 2
	}
	return min(asked, room)
}
