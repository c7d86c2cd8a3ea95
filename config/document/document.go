// Package document changes single keys of config.toml and leaves every other byte of it as it is. It checks its results against the reference of
// all keys, and writes no file.
package document

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hob/config"
	"hob/config/schema"
)

// Change sets or removes one key.
type Change struct {
	Key   string // its full name as TOML writes it: model.price.input, models."a.b".model
	Value string // what a person types for its type: 8192, true, 15m, a,b or ["a", "b"], { input = 3.0 }
	TOML  string // the value as TOML writes it, in place of Value: for keys that the reference describes as a whole
	Unset bool   // remove the key or the section; Value is ignored
}

// byteOrderMark begins files that some editors on Windows write.
const byteOrderMark = "\xef\xbb\xbf"

// Set makes changes to a document and returns the new one. All bytes that the changes do not concern stay as they are.
//
// Set validates the whole result. It returns Errors if the result has a mistake that the document did not have, or if a key does not accept
// its value. It returns an error that wraps ErrByHand if a key cannot be edited in place. file names the document in errors.
//
// The steps are: typedValue writes the value as TOML, editDocument puts it into the bytes, and the reference checks the result. All
// commands that change config.toml use Set.
func Set(r config.Reference, file string, doc []byte, changes ...Change) ([]byte, error) {
	// The parser does not know the mark, and the file must keep it.
	next, bom := bytes.CutPrefix(doc, []byte(byteOrderMark))
	// Mistakes that the document already had do not stop a change elsewhere in it.
	before, err := r.Check(file, doc, nil)
	if err != nil {
		return nil, err
	}
	// Only the result of all changes is checked, so that keys which need each other can be set together.
	for _, c := range changes {
		if next, err = applyChange(r, file, next, c); err != nil {
			return nil, err
		}
	}
	after, err := r.Check(file, next, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrByHand, err)
	}
	if worse := newProblems(before, after); len(worse) > 0 {
		return nil, worse
	}
	if bom {
		next = append([]byte(byteOrderMark), next...)
	}
	return next, nil
}

// newProblems returns the problems of after that before does not have, regardless of their lines.
func newProblems(before, after []config.Problem) config.Errors {
	var list config.Errors
	for _, p := range after {
		same := func(q config.Problem) bool { return p.Key == q.Key && p.Text == q.Text }
		// Advice never stops a change.
		if !p.Advice && !slices.ContainsFunc(before, same) {
			list = append(list, p)
		}
	}
	return list
}

// applyChange makes one change to a document: it checks that the change is possible, and edits the bytes.
func applyChange(r config.Reference, file string, doc []byte, c Change) ([]byte, error) {
	path, err := config.SplitKey(c.Key)
	if err != nil {
		return nil, err
	}
	text := ""
	switch {
	case c.Unset:
		err = checkRemovable(file, doc, path)
	case c.TOML != "":
		text = c.TOML
	default:
		text, err = typedValue(r, doc, path, c)
	}
	if err != nil {
		return nil, err
	}
	edit := func() ([]byte, error) { return editDocument(doc, path, text) }
	if c.Unset && !keyInFile(doc, path) {
		edit = func() ([]byte, error) { return Remove(doc, path) } // a section, with the sections in it
	}
	next, err := edit()
	if err != nil {
		return nil, fmt.Errorf("set %s: %w (change it with: hob config edit)", c.Key, err)
	}
	return next, nil
}

// typedValue writes a value as TOML of the type of its key.
func typedValue(r config.Reference, doc []byte, path []string, c Change) (string, error) {
	// The type of a key in a channel's section depends on the kind of the channel, which is in the document.
	k, err := r.Find(doc, path)
	if err != nil {
		return "", err
	}
	text, err := tomlLiteral(k, c.Value)
	if err != nil {
		// Without a file the problem is one of the typed value, and configError makes a usage error of it.
		return "", config.Errors{{Key: c.Key, Text: err.Error()}}
	}
	return text, nil
}

// checkRemovable returns an error if a key cannot be removed.
func checkRemovable(file string, doc []byte, path []string) error {
	tree, err := Parse(doc)
	if err != nil {
		return err
	}
	var at any = tree
	for _, name := range path {
		inner, ok := at.(map[string]any)
		if at = inner[name]; !ok || at == nil {
			return config.Errors{{File: file, Key: config.KeyText(path), Text: config.KeyText(path) + " is not in the file, so that there is nothing to take out"}}
		}
	}
	return nil
}

// keyInFile reports whether the file has a line key = value for it.
func keyInFile(doc []byte, path []string) bool {
	return slices.ContainsFunc(parseStatements(doc), func(s tomlStatement) bool { return !s.header && slices.Equal(s.path, path) })
}

// tomlLiteral converts typed text to TOML by the type of the key.
func tomlLiteral(k schema.Key, text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("%s: the value is not UTF-8 text", lastName(k.Name))
	}
	text, raw := strings.TrimSpace(text), text
	// An error must not repeat a secret: it may be printed, logged or sent.
	want := func(what string) (string, error) {
		if k.Secret() {
			return "", fmt.Errorf("%s: want %s", lastName(k.Name), what)
		}
		return "", fmt.Errorf("%s: want %s, found %q", lastName(k.Name), what, text)
	}
	switch k.Type {
	// A text is kept with its outer white space, as it was typed; all other types ignore it.
	case schema.Text:
		return config.Quote(raw), nil
	case schema.Switch:
		if text != "true" && text != "false" {
			return want("true or false")
		}
		return text, nil
	case schema.Whole:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return want("a whole number")
		}
		return strconv.FormatInt(n, 10), nil
	case schema.Number:
		return numberLiteral(text, want)
	case schema.Duration:
		if _, err := time.ParseDuration(text); err != nil {
			return want(`a time with its unit, like "30m" or "1h30m"`)
		}
		return config.Quote(text), nil
	case schema.List:
		if !strings.HasPrefix(text, "[") {
			return listLiteral(text), nil
		}
		return rawLiteral(text, "a list, like a,b or [\"a\", \"b\"]", want)
	}
	// Tables and lists of tables have no form of their own on the command line: they are typed as TOML.
	return rawLiteral(text, "a value as TOML writes it, like { "+samplePair(k)+" }", want)
}

// samplePair is an example of one pair of a table.
func samplePair(k schema.Key) string {
	if len(k.Keys) == 0 {
		return "key = \"value\""
	}
	return lastName(k.Keys[0].Name) + " = " + k.Keys[0].Example
}

// numberLiteral writes a number as TOML does. A float needs a point or an exponent there, else it would be an
// integer.
func numberLiteral(text string, want func(string) (string, error)) (string, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(text, "xX") {
		return want("a number")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	// The shortest text that is read back as the same number.
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s, nil
}

// listLiteral converts comma-separated elements, as environment variables have them too.
func listLiteral(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, config.Quote(part))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// rawLiteral checks one line of TOML and returns it unchanged.
func rawLiteral(text, what string, want func(string) (string, error)) (string, error) {
	// The value must be one value on one line, and nothing after it: "1 # x" or a second key would change the
	// document beyond the key.
	tree, err := Parse([]byte("x = " + text + "\n"))
	if err != nil || len(tree) != 1 || strings.ContainsAny(text, "\r\n") || valueEnd([]byte(text), 0) != len(text) {
		return want(what)
	}
	return text, nil
}

// lastName is the name of a key within its table.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
