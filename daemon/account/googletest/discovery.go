package googletest

import (
	_ "embed" // the documents
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed gmail.json
var gmailDocument []byte

//go:embed calendar.json
var calendarDocument []byte

// document is a discovery document of Google (https://developers.google.com/discovery/v1/reference/apis), as far as requests go.
type document struct {
	ServicePath string
	Methods     map[string]*method
	Schemas     map[string]map[string]property
}

type method struct {
	Path, HTTPMethod, Request string
	Scopes                    []string
	Parameters                map[string]parameter
	name                      string
	doc                       *document
}

type parameter struct {
	Type, Location, Minimum, Maximum string
	Enum                             []string
	Required, Repeated               bool
}

type property struct {
	Ref        string `json:"$ref"`
	Type       string
	Enum       []string
	Items      *property
	Properties map[string]property
}

// documents are both documents.
func documents() (list []*document, err error) {
	for _, raw := range [][]byte{gmailDocument, calendarDocument} {
		d := &document{}
		if err := json.Unmarshal(raw, d); err != nil {
			return nil, err
		}
		for name, m := range d.Methods {
			m.name, m.doc = name, d
		}
		list = append(list, d)
	}
	return list, nil
}

// find finds the method of a request, with the parameters of its path.
func find(list []*document, r *http.Request) (*method, map[string]string) {
	for _, d := range list {
		for _, m := range d.Methods {
			pattern := "^/" + regexp.MustCompile(`\\\{(\w+)\\\}`).ReplaceAllString(regexp.QuoteMeta(d.ServicePath+m.Path), `(?P<$1>[^/]+)`) + "$"
			re := regexp.MustCompile(pattern)
			found := re.FindStringSubmatch(r.URL.EscapedPath())
			if found == nil || m.HTTPMethod != r.Method {
				continue
			}
			values := map[string]string{}
			for i, name := range re.SubexpNames() {
				if name != "" {
					values[name], _ = url.PathUnescape(found[i]) // the server has parsed it
				}
			}
			return m, values
		}
	}
	return nil, nil
}

// check says what is wrong with a request.
func (m *method) check(r *http.Request, path map[string]string, body []byte, scopes []string) (wrong []string) {
	if !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(m.Scopes, s) }) {
		wrong = append(wrong, "none of its scopes is granted")
	}
	q := r.URL.Query()
	for name, values := range q {
		p, ok := m.Parameters[name]
		if !ok || p.Location != "query" {
			wrong = append(wrong, "there is no query parameter "+name)
			continue
		}
		if len(values) > 1 && !p.Repeated {
			wrong = append(wrong, name+" is repeated")
		}
		for _, v := range values {
			wrong = append(wrong, p.check(name, v)...)
		}
	}
	for name, p := range m.Parameters {
		if p.Required && path[name] == "" && !q.Has(name) {
			wrong = append(wrong, name+" is missing")
		}
	}
	switch {
	case m.Request == "" && len(body) > 0:
		wrong = append(wrong, "it takes no body")
	case m.Request != "":
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			return append(wrong, "its body: "+err.Error())
		}
		wrong = append(wrong, m.doc.fits("body", property{Ref: m.Request}, v)...)
	}
	return wrong
}

func (p parameter) check(name, v string) (wrong []string) {
	n, err := strconv.Atoi(v)
	switch {
	case p.Type == "integer" && err != nil, p.Type == "boolean" && v != "true" && v != "false", len(p.Enum) > 0 && !slices.Contains(p.Enum, v):
		wrong = append(wrong, fmt.Sprintf("%s cannot be %q", name, v))
	case p.Type == "integer":
		least, errLeast := strconv.Atoi(p.Minimum)
		most, errMost := strconv.Atoi(p.Maximum)
		if errLeast == nil && n < least || errMost == nil && n > most {
			wrong = append(wrong, fmt.Sprintf("%s: %d is out of range", name, n))
		}
	}
	return wrong
}

// fits says where a value does not fit a schema.
func (d *document) fits(at string, p property, v any) (wrong []string) {
	fields := p.Properties
	if p.Ref != "" {
		fields = d.Schemas[p.Ref]
		if _, ok := v.(map[string]any); !ok {
			return []string{at + " is no object"}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			if f, ok := fields[name]; ok {
				wrong = append(wrong, d.fits(at+"."+name, f, one)...)
			} else {
				wrong = append(wrong, at+" has no field "+name)
			}
		}
	case []any:
		if p.Items == nil {
			return []string{at + " is no list"}
		}
		for _, one := range v {
			wrong = append(wrong, d.fits(at+"[]", *p.Items, one)...)
		}
	case string:
		if p.Type != "string" || len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
			wrong = append(wrong, at+" cannot be "+strconv.Quote(v))
		}
	case bool:
		if p.Type != "boolean" {
			wrong = append(wrong, at+" is no truth value")
		}
	case float64:
		if p.Type != "integer" && p.Type != "number" {
			wrong = append(wrong, at+" is no number")
		}
	}
	return wrong
}

// prefix reports whether a path is one of the interfaces.
func prefix(path string) bool {
	return strings.HasPrefix(path, "/gmail/") || strings.HasPrefix(path, "/calendar/")
}
