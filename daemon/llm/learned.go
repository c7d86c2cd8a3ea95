package llm

import (
	"fmt"
	"strings"
	"sync"
)

// Learned is what a server has told of a model, in its list of models and by refusing requests. All models of the same name and level of thinking at
// the same server share it, so that it is not lost when the config is read again. The lock guards the fields.
type Learned struct {
	sync.Mutex
	Listed  int      // the largest request as the list tells it, in tokens; 0: unknown
	Window  int      // the largest request as a refusal told it, in tokens; 0: unknown
	Then    int      // Listed at the time of that refusal; another number there is newer than Window
	Output  int      // the longest answer, in tokens; 0: unknown
	Role    string   // of the system message; "": system
	Changes []Change // of the fields of a request
}

// Change is one difference between the requests that hob writes and those that a server takes: a field has another name or the nearest of
// other values, or is left out.
type Change struct {
	At      string // the path of the field: "tools.*.strict"; a star is every element of a list
	Name    string // the new name
	Offered string // the text with the values that are taken instead
}

// Request returns the largest request that the server takes now, in tokens; 0 if it has not told.
func (l *Learned) Request() int {
	l.Lock()
	defer l.Unlock()
	if l.Window > 0 && l.Then == l.Listed { // otherwise the model was loaded anew
		return l.Window
	}
	return l.Listed
}

// Lines says for people what refusals have changed.
func (l *Learned) Lines() []string {
	list := []string{}
	l.Lock()
	defer l.Unlock()
	if l.Window > 0 && l.Then == l.Listed {
		list = append(list, fmt.Sprintf("a request has at most %d tokens", l.Window))
	}
	if l.Output > 0 {
		list = append(list, fmt.Sprintf("an answer has at most %d tokens", l.Output))
	}
	if l.Role != "" {
		list = append(list, "the system message has the role "+l.Role)
	}
	for _, c := range l.Changes {
		field := strings.ReplaceAll(c.At, ".*", "")
		switch {
		case c.Name != "":
			list = append(list, field+" is sent as "+c.Name)
		case c.Offered != "":
			list = append(list, field+" gets the nearest level that the server takes")
		default:
			list = append(list, field+" is left out")
		}
	}
	return list
}
