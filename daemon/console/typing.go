package console

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Keys of the line editor that golang.org/x/term leaves to its caller. Alt-d has no byte of its own: translate gives it this one.
const (
	keyTab      = '\t'
	keySearch   = 0x12 // Ctrl-R
	keyDropWord = 0x1e
)

// translation maps the key sequences of other terminals to the ones that golang.org/x/term knows (xterm's "PC-style function keys",
// rxvt's and the Linux console's).
var translation = strings.NewReplacer(
	"\x1b[1~", "\x1b[H", "\x1b[7~", "\x1b[H", "\x1bOH", "\x1b[H",
	"\x1b[4~", "\x1b[F", "\x1b[8~", "\x1b[F", "\x1bOF", "\x1b[F",
	"\x1bOA", "\x1b[A", "\x1bOB", "\x1b[B", "\x1bOC", "\x1b[C", "\x1bOD", "\x1b[D",
	"\x1b[1;5D", "\x1b[1;3D", "\x1bOd", "\x1b[1;3D", "\x1b[5D", "\x1b[1;3D", "\x1bb", "\x1b[1;3D",
	"\x1b[1;5C", "\x1b[1;3C", "\x1bOc", "\x1b[1;3C", "\x1b[5C", "\x1b[1;3C", "\x1bf", "\x1b[1;3C",
	"\x1bd", string(rune(keyDropWord)), "\x1b\x7f", "\x17", "\x1b\x08", "\x17",
)

// translate returns typed bytes as golang.org/x/term knows them. Pasted text stays as it is.
func translate(b []byte) []byte {
	if bytes.Contains(b, []byte(pasteStart)) || bytes.Contains(b, []byte(pasteEnd)) {
		return b
	}
	return []byte(translation.Replace(string(b)))
}

// typing is what the line editor does beside editing: completion, search in the history, and deleting a word. The goroutine of the line
// editor uses it.
type typing struct {
	history *history
	words   func(line string) []string // the completions of the last word of a line; nil: there are none

	given   string   // the line that the last key here has made
	options []string // of that line, in turn
	next    int
}

// pressed handles a key, as term.Terminal's AutoCompleteCallback. pos is in bytes.
func (t *typing) pressed(line string, pos int, key rune) (string, int, bool) {
	switch key {
	case keyDropWord:
		rest := strings.TrimLeftFunc(line[pos:], isSpace)
		rest = rest[min(len(rest), max(0, strings.IndexFunc(rest+" ", isSpace))):]
		return line[:pos] + rest, pos, true
	case keyTab:
		return t.turn(line, pos, t.completions)
	case keySearch:
		return t.turn(line, pos, t.history.matches)
	}
	return "", 0, false
}

// isSpace reports whether a character separates words.
func isSpace(r rune) bool { return unicode.IsSpace(r) }

// turn replaces the text before the cursor by the next of its options. The same key again takes the one after it, and after the last
// the text as it was typed.
func (t *typing) turn(line string, pos int, find func(string) []string) (string, int, bool) {
	if line[:pos] != t.given || len(t.options) == 0 {
		t.options, t.next = find(line[:pos]), 0
		if len(t.options) == 0 {
			return line, pos, true
		}
		t.options = append(t.options, line[:pos])
	}
	t.given = t.options[t.next]
	t.next = (t.next + 1) % len(t.options)
	return t.given + line[pos:], len(t.given), true
}

// completions returns what the text may become.
func (t *typing) completions(text string) []string {
	start := strings.LastIndexFunc(text, isSpace) + 1
	head, word := text[:start], text[start:]
	var list []string
	if t.words != nil && (head != "" || strings.HasPrefix(word, "/")) {
		list = t.words(text)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(w string) bool { return w == word || !strings.HasPrefix(w, word) })
	// A word with a slash, or the name of a file to attach, may be a path.
	if head == attachWord || head != "" && strings.ContainsAny(word, "/~") {
		list = append(list, paths(word)...)
	}
	for i := range list {
		list[i] = head + list[i]
	}
	return list
}

// paths returns the files that begin like a word.
func paths(word string) []string {
	dir, name := filepath.Split(word)
	look := dir
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(dir, "~/") {
		look = filepath.Join(home, dir[2:])
	}
	if look == "" {
		look = "."
	}
	entries, err := os.ReadDir(look)
	if err != nil {
		return nil // there is nothing to complete
	}
	var list []string
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(name, ".")
		if !strings.HasPrefix(e.Name(), name) || hidden || e.Name() != Clean(e.Name()) {
			continue
		}
		path := dir + e.Name()
		if e.IsDir() {
			path += string(filepath.Separator)
		}
		list = append(list, path)
	}
	return list
}

// history are the lines that were entered, the newest last. It implements term.History.
type history struct {
	path  string // "" keeps them in memory only
	lines []string
	err   error // the first failed write
}

// keptLines is how many lines the file of the history has after a start.
const keptLines = 1000

// newHistory reads the history of earlier conversations. A missing file is an empty history.
func newHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, len(b)+1)
	for in.Scan() {
		h.lines = append(h.lines, in.Text())
	}
	if n := len(h.lines) - keptLines; n > 0 {
		h.lines = h.lines[n:]
		return h, os.WriteFile(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600) //nolint:gosec // the path is the home's, not a text of others
	}
	return h, nil
}

// Add implements term.History. Answers of one letter, and repeats, are not kept.
func (h *history) Add(line string) {
	if len(strings.TrimSpace(line)) < 2 || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path == "" || h.err != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		if e := f.Close(); err == nil {
			err = e
		}
	}
	h.err = err
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History: 0 is the newest line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// matches returns the lines that contain a text, the newest first and each once.
func (h *history) matches(text string) []string {
	var list []string
	for _, line := range slices.Backward(h.lines) {
		if strings.Contains(line, text) && line != text && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}
