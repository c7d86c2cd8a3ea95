package notebook_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"hob/tools/edit/notebook"
)

// For any notebook the result is valid JSON, and all cells but one keep their bytes.
func FuzzApply(f *testing.F) {
	f.Add(`{"cells":[{"source":"a","cell_type":"code","outputs":[]}],"nbformat":4}`, "0", "b", 1, "")
	f.Add(`{"cells":[{"outputs":1,"source":[],"execution_count":2,"cell_type":"code"}, {"source":""}],"nbformat":4,"cells":[{"source":[],"cell_type":""}]}`, "0", "", 0, "raw")
	f.Add("{\"nbformat\":4,\n \"cells\":[ ]}", "", "b", 1, "raw")
	f.Add("{\n \"cells\": [\n  {\n   \"id\": \"x\",\n   \"source\": [\n    \"a\\n\"\n   ]\n  },\n  {\"source\": \"b\"}\n ],\n \"nbformat\": 4, \"nbformat_minor\": 5\n}", "x", "b\nc", 2, "")
	f.Fuzz(func(t *testing.T, file, cell, source string, mode int, kind string) {
		e := notebook.Edit{Cell: cell, Source: source, ID: "fresh"}
		e.Mode = []notebook.Mode{notebook.Replace, notebook.Insert, notebook.Delete}[uint(mode)%3]
		if slices.Contains([]string{"code", "markdown", "raw"}, kind) {
			e.Type = kind
		}
		out, at, err := notebook.Apply([]byte(file), e)
		if err != nil {
			if !errors.Is(err, notebook.ErrFormat) && !errors.Is(err, notebook.ErrCell) {
				t.Fatal(err)
			}
			return
		}
		was, now := cells(t, file), cells(t, string(out))
		switch e.Mode {
		case notebook.Insert:
			now = slices.Delete(now, at, at+1)
		case notebook.Delete:
			was = slices.Delete(was, at, at+1)
		case notebook.Replace:
			was[at], now[at] = "", ""
		}
		if !slices.Equal(was, now) {
			t.Fatalf("%q\n%q\n%s", was, now, out)
		}
		all, err := notebook.Cells(out)
		if err != nil {
			t.Fatal(err)
		}
		if e.Mode != notebook.Delete && all[at].Source != strings.ToValidUTF8(source, "\ufffd") && !strings.Contains(all[at].Source, "\ufffd") {
			t.Fatalf("source %q, want %q", all[at].Source, source)
		}
	})
}

// cells are the cells as another reader of JSON finds them.
func cells(t *testing.T, file string) []string {
	t.Helper()
	dec := map[string]json.RawMessage{}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(strings.TrimPrefix(file, "\ufeff")), &dec); err != nil {
		t.Fatalf("%v: %s", err, file)
	}
	if err := json.Unmarshal(dec["cells"], &list); err != nil {
		t.Fatalf("%v: %s", err, file)
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = string(c)
	}
	return out
}
