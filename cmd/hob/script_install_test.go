package main_test

import (
	"archive/zip"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// goProxy writes a proxy for Go modules into a folder: goproxy FOLDER MODULE VERSION SOURCE makes a module with one program of the file SOURCE.
func goProxy(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: goproxy FOLDER MODULE VERSION SOURCE")
	}
	module, version := args[1], args[2]
	at := filepath.Join(ts.MkAbs(args[0]), filepath.FromSlash(module), "@v")
	ts.Check(os.MkdirAll(at, 0o700))
	mod := "module " + module + "\n\ngo 1.20\n"
	for name, text := range map[string]string{".mod": mod, ".info": `{"Version":"` + version + `","Time":"2026-01-02T03:04:05Z"}`} {
		ts.Check(os.WriteFile(filepath.Join(at, version+name), []byte(text), 0o600))
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	ts.Check(err)
	z := zip.NewWriter(f)
	for name, text := range map[string]string{"go.mod": mod, "main.go": ts.ReadFile(args[3])} {
		w, err := z.Create(module + "@" + version + "/" + name)
		ts.Check(err)
		_, err = w.Write([]byte(text))
		ts.Check(err)
	}
	ts.Check(z.Close())
	ts.Check(f.Close())
	list, err := os.OpenFile(filepath.Join(at, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = list.WriteString(version + "\n")
	ts.Check(err)
	ts.Check(list.Close())
}
