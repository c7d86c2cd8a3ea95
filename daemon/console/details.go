package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Member is one member of a JSON object. Lists of members keep the daemon's order, which a Go map would lose.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members decodes an object; ok is false for any other value.
func Members(raw json.RawMessage) (list []Member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, false
		}
		list = append(list, Member{fmt.Sprint(key), v})
	}
	return list, true
}

// Sheet defines how the details of a row are shown.
type Sheet struct {
	Clock func(time.Time) string        // nil: local time to the minute
	Text  func(key, text string) string // nil: unchanged
	Hide  []string                      // members of no use to a person
}

// Details shows every member of a JSON object on a line of its own. Numbers get the unit that their key names; elements of a list are cut
// to one line each.
func (s Sheet) Details(raw json.RawMessage) string {
	if s.Clock == nil {
		s.Clock = Clock
	}
	if s.Text == nil {
		s.Text = func(_, text string) string { return text }
	}
	var b strings.Builder
	s.detail(&b, "", raw)
	return b.String()
}

// detail writes an object with its values in one column.
func (s Sheet) detail(b *strings.Builder, indent string, raw json.RawMessage) {
	list, ok := Members(raw)
	if !ok {
		fmt.Fprintln(b, indent+s.plain("", raw))
		return
	}
	list = slices.DeleteFunc(list, func(m Member) bool { return slices.Contains(s.Hide, m.Key) })
	// The keys form one column as wide as the longest of them.
	wide := 0
	for _, m := range list {
		wide = max(wide, len(m.Key))
	}
	for _, m := range list {
		s.one(b, indent, wide, m)
	}
}

// one writes one member: a list as indented lines, an object on one line, any other value beside its key.
func (s Sheet) one(b *strings.Builder, indent string, wide int, m Member) {
	pad := strings.Repeat(" ", wide-len(m.Key)+2)
	var rows []json.RawMessage
	if json.Unmarshal(m.Value, &rows) == nil && rows != nil {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintln(b, indent+m.Key)
		for _, r := range rows {
			fmt.Fprintln(b, indent+"  "+s.brief(r))
		}
		return
	}
	if inner, ok := Members(m.Value); ok && len(inner) > 0 {
		fmt.Fprintln(b, indent+m.Key+pad+s.brief(m.Value))
		return
	}
	if v := s.plain(m.Key, m.Value); v != "" {
		fmt.Fprintln(b, indent+m.Key+pad+strings.ReplaceAll(v, "\n", "\n"+indent+strings.Repeat(" ", wide+2)))
	}
}

// brief shows a value on one line, an object as "key value · key value".
func (s Sheet) brief(raw json.RawMessage) string {
	list, ok := Members(raw)
	if !ok {
		return CellText(s.plain("", raw))
	}
	var parts []string
	for _, m := range list {
		if v := CellText(s.plain(m.Key, m.Value)); v != "" {
			parts = append(parts, m.Key+" "+v)
		}
	}
	return strings.Join(parts, " · ")
}

// plain shows a scalar for people, with the unit that its key names.
func (s Sheet) plain(key string, raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil || v == nil {
		return ""
	}
	switch x := v.(type) {
	case string:
		// The API has instants as text (RFC 3339); a person sees them in the zone of the sheet.
		if t, err := time.Parse(time.RFC3339, x); err == nil {
			return s.Clock(t)
		}
		return Clean(s.Text(key, x))
	case float64:
		return quantity(key, int64(x), string(raw))
	case bool:
		return map[bool]string{true: "yes", false: "no"}[x]
	}
	return string(raw)
}

// quantity formats a number by the suffix of its key.
func quantity(key string, n int64, as string) string {
	switch {
	case strings.HasSuffix(key, "_micros"):
		return Money(n)
	case strings.HasSuffix(key, "_ms"):
		return Span(n)
	case strings.HasSuffix(key, "bytes"):
		return Size(n)
	}
	return as
}
