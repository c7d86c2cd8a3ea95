package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/secret"
)

// Route is a route of package api with its handler. The functions below make one; the compiler holds the
// handler against the types of the route. daemon/routes.go makes one for each route of package api, and a test
// compares the two lists.
type Route struct {
	pattern string
	keys    []string // that its query may have
	free    bool     // its query may have any
	serve   func(h *handler, w http.ResponseWriter, r *http.Request)
}

// ident is what names a row in a path: its number, or a text.
type ident interface{ int64 | string }

// List serves the rows of a list.
func List[R any](l api.List[R], rows func(context.Context, event.Filter) ([]R, error)) Route {
	return Route{pattern: string(l), keys: []string{"limit", "state", "name"}, serve: func(h *handler, w http.ResponseWriter, r *http.Request) {
		f, err := filter(r.URL.Query())
		var list []R
		if err == nil {
			list, err = rows(r.Context(), f)
		}
		if list == nil {
			list = []R{} // a list is never null
		}
		h.show(w, r, list, err)
	}}
}

// ListAll serves a list that always comes whole, because its rows are few.
func ListAll[R any](l api.List[R], rows func(context.Context) ([]R, error)) Route {
	return List(l, func(ctx context.Context, _ event.Filter) ([]R, error) { return rows(ctx) })
}

// Show serves one row.
func Show[ID ident, R any](s api.Show[R], row func(context.Context, ID) (R, error)) Route {
	return Route{pattern: string(s), serve: func(h *handler, w http.ResponseWriter, r *http.Request) {
		var found R
		id, err := idOf[ID](r)
		if err == nil {
			found, err = row(r.Context(), id)
		}
		h.show(w, r, found, err)
	}}
}

// ShowOnly serves something that exists once.
func ShowOnly[R any](s api.Show[R], row func(context.Context) (R, error)) Route {
	return Show(s, func(ctx context.Context, _ string) (R, error) { return row(ctx) })
}

// Do serves a verb on a row. The arguments come from the body, the row from the path.
func Do[ID ident, In, Out any](v api.Verb[In, Out], do func(context.Context, ID, In) (Out, error)) Route {
	return Route{pattern: string(v), serve: func(h *handler, w http.ResponseWriter, r *http.Request) {
		var out Out
		in, err := arguments[In](r, v.Name())
		if err == nil {
			var id ID
			if id, err = idOf[ID](r); err == nil {
				out, err = do(r.Context(), id, in)
			}
		}
		h.answer(w, r, out, err)
	}}
}

// DoPlain serves a verb on a row that takes no arguments.
func DoPlain[ID ident, Out any](v api.Verb[api.None, Out], do func(context.Context, ID) (Out, error)) Route {
	return Do(v, func(ctx context.Context, id ID, _ api.None) (Out, error) { return do(ctx, id) })
}

// Change serves a verb on a row that takes no arguments and has nothing to show.
func Change[ID ident](v api.Verb[api.None, api.Done], do func(context.Context, ID) error) Route {
	return DoPlain(v, func(ctx context.Context, id ID) (api.Done, error) { return api.Done{OK: true}, do(ctx, id) })
}

// DoOnly serves a verb on something that exists once.
func DoOnly[In, Out any](v api.Verb[In, Out], do func(context.Context, In) (Out, error)) Route {
	return Do(v, func(ctx context.Context, _ string, in In) (Out, error) { return do(ctx, in) })
}

// idOf reads what names the row in the path of a request.
func idOf[ID ident](r *http.Request) (id ID, err error) {
	text := r.PathValue("id")
	switch to := any(&id).(type) {
	case *string:
		*to = text
	case *int64:
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil || *to <= 0 {
			resource, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
			return id, event.NewFault(event.Invalid, "ids are whole numbers", "%q is not the id of a %s", text, strings.TrimSuffix(resource, "s"))
		}
	}
	return id, nil
}

// arguments reads the body of a verb: an object of its arguments, or nothing.
// A text field with the tag need must not be empty. Unknown fields are refused.
func arguments[In any](r *http.Request, verb string) (in In, err error) {
	if err := decode(r, &in); err != nil {
		return in, badArguments(err, verb)
	}
	v := reflect.ValueOf(in)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Tag.Get("need") != "" && strings.TrimSpace(v.Field(i).String()) == "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return in, event.NewFault(event.Invalid, "", "%s: %q is missing", verb, name)
		}
	}
	return in, nil
}

// badArguments names the argument that a verb does not take. Of one that is no text it does not say which it is.
func badArguments(err error, verb string) error {
	cause := errors.Unwrap(err)
	if cause == nil {
		return err
	}
	if name, unknown := strings.CutPrefix(cause.Error(), "json: unknown field "); unknown { // the decoder has no type for this error
		return event.NewFault(event.Invalid, "", "%s: there is no argument %s", verb, name)
	}
	var typ *json.UnmarshalTypeError
	if errors.As(cause, &typ) {
		typ.Field = ""
		return badBody(typ)
	}
	return err
}

// show answers with a row or a list, without the values of secrets: a tool may have read one, and then the transcript has it.
func (h *handler) show(w http.ResponseWriter, r *http.Request, row any, err error) {
	var raw []byte
	if err == nil {
		if raw, err = json.Marshal(row); err != nil {
			err = fmt.Errorf("encode the answer: %w", err)
		}
	}
	if err == nil && h.Hide != nil {
		raw, err = secret.JSON(raw, h.Hide)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, "application/json", raw)
}

// maxRows is the most rows that one list returns.
const maxRows = 1000

// filter reads which rows a list returns.
func filter(q url.Values) (event.Filter, error) {
	f := event.Filter{State: q.Get("state"), Name: q.Get("name")}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxRows {
			return f, event.NewFault(event.Invalid, "", "limit %q is not a number from 1 to %d", q.Get("limit"), maxRows)
		}
		f.Limit = n
	}
	return f, nil
}
