package edit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/tools"
	"hob/tools/edit"
)

// book is a notebook as Jupyter writes it, with things that a writer of JSON would write otherwise.
const book = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "<b>ü</b>"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {"x":1.0,   "y": 1e5},
   "outputs": [
    {"data": {"text/plain": ["4\u0021"]}, "output_type": "execute_result"}
   ],
   "source": [
    "2 + 2"
   ]
  },
  {
   "cell_type": "raw",
   "id": "tail",
   "metadata": {},
   "source": []
  }
 ],
 "metadata": {
  "kernelspec": {"name": "python3"}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestNotebookEdit(t *testing.T) {
	calc := book[strings.Index(book, "  {\n   \"cell_type\": \"code\""):strings.Index(book, "  {\n   \"cell_type\": \"raw\"")]
	for _, c := range []struct {
		name string
		file string // "": book
		args args
		old  string // what of the file changes
		want string // the result; {ID} is replaced by the new id
		n    int    // the number of the cell
		left int    // cells
	}{
		{name: "replace by id", args: args{"cell_id": "calc", "new_source": "print(\"<&>\")\nü"}, n: 1, left: 3, old: "\"2 + 2\"\n", want: "\"print(\\\"<&>\\\")\\n\",\n    \"ü\"\n"},
		{name: "replace by number", args: args{"cell_id": "1", "new_source": "x"}, n: 1, left: 3, old: "\"2 + 2\"\n", want: "\"x\"\n"},
		{name: "replace by cell-number", args: args{"cell_id": "cell-1", "new_source": "x"}, n: 1, left: 3, old: "\"2 + 2\"\n", want: "\"x\"\n"},
		{name: "replace by nothing", args: args{"cell_id": "calc", "new_source": ""}, n: 1, left: 3, old: "[\n    \"2 + 2\"\n   ]", want: "[]"},
		{name: "replace an empty source", args: args{"cell_id": "tail", "new_source": "a\n"}, n: 2, left: 3, old: "\"source\": []", want: "\"source\": [\n    \"a\\n\"\n   ]"},
		{
			name: "to markdown", args: args{"cell_id": "calc", "new_source": "2 + 2", "cell_type": "markdown"}, n: 1, left: 3, old: calc,
			want: "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"calc\",\n   \"metadata\": {\"x\":1.0,   \"y\": 1e5},\n   \"source\": [\n    \"2 + 2\"\n   ]\n  },\n",
		},
		{name: "to code", args: args{"cell_id": "tail", "new_source": "", "cell_type": "code"}, n: 2, left: 3, old: "\"raw\",\n", want: "\"code\",\n   \"execution_count\": null,\n   \"outputs\": [],\n"},
		{name: "delete the first", args: args{"mode": "delete", "cell_id": "intro", "new_source": ""}, n: 0, left: 2, old: book[strings.Index(book, "  {\n"):strings.Index(book, calc)], want: ""},
		{name: "delete the last", args: args{"mode": "delete", "cell_id": "2", "new_source": ""}, n: 2, left: 2, old: ",\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"tail\",\n   \"metadata\": {},\n   \"source\": []\n  }", want: ""},
		{
			name: "insert after", args: args{"mode": "insert", "cell_id": "calc", "new_source": "a\nb", "cell_type": "markdown"}, n: 2, left: 4, old: calc,
			want: calc + "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"{ID}\",\n   \"metadata\": {},\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  },\n",
		},
		{
			name: "insert at the beginning", args: args{"mode": "insert", "new_source": "1"}, n: 0, left: 4, old: " \"cells\": [\n",
			want: " \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{ID}\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"1\"\n   ]\n  },\n",
		},
		{
			name: "insert at the end", args: args{"mode": "insert", "cell_id": "tail", "new_source": "1", "cell_type": "raw"}, n: 3, left: 4, old: "   \"source\": []\n  }\n",
			want: "   \"source\": []\n  },\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"{ID}\",\n   \"metadata\": {},\n   \"source\": [\n    \"1\"\n   ]\n  }\n",
		},
		{
			name: "source as one text", file: `{"cells":[{"cell_type":"code","source":"a","metadata":{},"outputs":[]}],"nbformat":4,"nbformat_minor":2}`,
			args: args{"cell_id": "0", "new_source": "b\nc"}, n: 0, left: 1, old: `"a"`, want: `"b\nc"`,
		},
		{
			name: "on one line, without ids", file: `{"cells":[{"cell_type":"raw","source":"a","metadata":{}}],"nbformat":4,"nbformat_minor":2}`,
			args: args{"mode": "insert", "cell_id": "0", "new_source": "b"}, n: 1, left: 2, old: `}}]`, want: `}}, {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "b"}]`,
		},
		{
			name: "the only cell", file: "{\n \"cells\": [\n  {\"cell_type\": \"raw\", \"source\": \"\"}\n ], \"nbformat\": 4}\n",
			args: args{"mode": "delete", "cell_id": "0", "new_source": ""}, n: 0, left: 0, old: "[\n  {\"cell_type\": \"raw\", \"source\": \"\"}\n ]", want: "[]",
		},
		{
			name: "into no cells, with CR LF", file: "\ufeff{\r\n \"cells\": [], \"nbformat\": 4, \"nbformat_minor\": 4\r\n}",
			args: args{"mode": "insert", "new_source": "b", "cell_type": "raw"}, n: 0, left: 1, old: "[]", want: "[\r\n  {\r\n   \"cell_type\": \"raw\",\r\n   \"metadata\": {},\r\n   \"source\": [\r\n    \"b\"\r\n   ]\r\n  }\r\n ]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t)
			if c.file == "" {
				c.file = book
			}
			d.put(t, "n.ipynb", c.file)
			c.args["path"] = "n.ipynb"
			res := d.do(t, d.notebook, c.args)
			out, _ := res.Data.(edit.NotebookOutput)
			if res.IsError || out.Number != c.n || out.Cells != c.left {
				t.Fatalf("%+v %s", out, res.Content)
			}
			if strings.Count(c.file, c.old) != 1 {
				t.Fatalf("%q stands there %d times", c.old, strings.Count(c.file, c.old))
			}
			want := strings.Replace(c.file, c.old, strings.Replace(c.want, "{ID}", out.CellID, 1), 1)
			got := d.get(t, "n.ipynb")
			if got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			if !json.Valid([]byte(strings.TrimPrefix(got, "\ufeff"))) {
				t.Error("it is not JSON")
			}
		})
	}
}

func TestNotebookErrors(t *testing.T) {
	d := newFixture(t)
	for _, c := range []struct {
		name, file string
		args       args
		code       tools.Code
		want       string
	}{
		{"no such cell", book, args{"cell_id": "zzz"}, tools.NotFound, "cell 1 (calc) code: 2 + 2"},
		{"a number too high", book, args{"cell_id": "3"}, tools.NotFound, "it has 3 cells"},
		{"no cell named", book, args{}, tools.Validation, "cell_id: missing"},
		{"no cell named to delete", book, args{"mode": "delete"}, tools.Validation, "cell_id: missing"},
		{"no JSON", "hello", args{"cell_id": "0"}, tools.Validation, "not a notebook of nbformat 4: it is not JSON"},
		{"no cells", `{"nbformat": 4}`, args{"cell_id": "0"}, tools.Validation, "it has no list of cells"},
		{"a list", `[]`, args{"cell_id": "0"}, tools.Validation, "want an object"},
		{"nbformat 3", `{"cells": [], "nbformat": 3}`, args{"cell_id": "0"}, tools.Validation, "nbformat is 3"},
		{"another type", book, args{"cell_id": "0", "cell_type": "sql"}, tools.Validation, "want one of code, markdown, raw"},
		{"a cell that is none", `{"cells": [1], "nbformat": 4}`, args{"cell_id": "0"}, tools.Validation, "cell 0"},
		{"a source that is none", `{"cells": [{"source": 1}], "nbformat": 4}`, args{"cell_id": "0"}, tools.Validation, "neither a text nor a list"},
		{"a cell without source", `{"cells": [{}], "nbformat": 4}`, args{"cell_id": "0"}, tools.Validation, "the cell has no source"},
		{"a cell without type", `{"cells": [{"source": ""}], "nbformat": 4}`, args{"cell_id": "0", "cell_type": "raw"}, tools.Validation, "the cell has no type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.put(t, "n.ipynb", c.file)
			clear(d.seen)
			c.args["path"], c.args["new_source"] = "n.ipynb", "x"
			if res := d.do(t, d.notebook, c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) || d.get(t, "n.ipynb") != c.file {
				t.Errorf("%s", res.Content)
			}
		})
	}
	if res := d.do(t, d.notebook, args{"path": "nope.ipynb", "cell_id": "0", "new_source": ""}); res.Code != tools.NotFound {
		t.Errorf("%s", res.Content)
	}
}
