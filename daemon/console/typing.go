package console

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/channels/markup"
)

// Keys of the line editor. golang.org/x/term handles the other ones.
const (
	keyTab    = '\t'
	keySearch = 0x12 // Ctrl-R
	// Those that change the line have a character of their own here, which x/term passes on: it knows nothing of cells.
	keyInsert = firstKey + iota
	keyBreak
	keyLeft
	keyRight
	keyBackspace
	keyDelete
	keyLeave // Ctrl-D: it deletes, and leaves from an empty line
	keyDropAll
	keyDropStart
	keyDropBefore
	keyDropAfter
	keySwap
	keyLayout // nothing but a new layout
)

// translation maps the key sequences of terminals to the keys above, and to those that golang.org/x/term knows (xterm's "PC-style function
// keys", rxvt's and the Linux console's).
var translation = strings.NewReplacer(
	"\x1b[1~", "\x1b[H", "\x1b[7~", "\x1b[H", "\x1bOH", "\x1b[H",
	"\x1b[4~", "\x1b[F", "\x1b[8~", "\x1b[F", "\x1bOF", "\x1b[F",
	"\x1bOA", "\x1b[A", "\x1bOB", "\x1b[B",
	"\x1b[1;5D", "\x1b[1;3D", "\x1bOd", "\x1b[1;3D", "\x1b[5D", "\x1b[1;3D", "\x1bb", "\x1b[1;3D",
	"\x1b[1;5C", "\x1b[1;3C", "\x1bOc", "\x1b[1;3C", "\x1b[5C", "\x1b[1;3C", "\x1bf", "\x1b[1;3C",
	"\x1bOC", string(rune(keyRight)), "\x1b[C", string(rune(keyRight)), "\x06", string(rune(keyRight)),
	"\x1bOD", string(rune(keyLeft)), "\x1b[D", string(rune(keyLeft)), "\x02", string(rune(keyLeft)),
	"\x1bd", string(rune(keyDropAfter)), "\x1b\x7f", string(rune(keyDropBefore)), "\x1b\x08", string(rune(keyDropBefore)),
	"\x17", string(rune(keyDropBefore)), "\x15", string(rune(keyDropStart)), "\x14", string(rune(keySwap)),
	"\x7f", string(rune(keyBackspace)), "\x08", string(rune(keyBackspace)),
	"\x1b[3~", string(rune(keyDelete)), "\x04", string(rune(keyLeave)),
	"\x1b\r", string(rune(keyBreak)), "\n", string(rune(keyBreak)),
)

// typing is what the line editor does beside moving the cursor: changes of the line, completion, and search in the history. It implements
// term.History. put is called by the loop, anything else by the goroutine of the line editor.
type typing struct {
	cells
	history *history
	words   func(line string) []string // the completions of the last word of a line; nil: there are none
	leave   func()                     // Ctrl-D in an empty line

	input   sync.Mutex // the fields below
	inserts []string   // texts that were typed, one for each keyInsert
	rest    []byte     // the begun sequence, character or paste at the end of what was typed
	pasting bool
	filled  bool // the line may have text

	// Of completion and search; only the line editor's goroutine uses them.
	given   string   // the text before the cursor that the last key here has made
	options []string // of that text, in turn
	next    int
}

// put takes typed bytes and returns the keys of them. Text that is pasted (bracketed paste) or has other characters than ASCII is inserted
// as a whole.
func (t *typing) put(typed []byte) []byte {
	t.input.Lock()
	defer t.input.Unlock()
	t.filled = true
	seen := max(0, len(t.rest)-len(pasteEnd))
	b := append(t.rest, typed...)
	t.rest = nil
	var keys []byte
	for len(b) > 0 {
		if t.pasting {
			end := bytes.Index(b[seen:], []byte(pasteEnd))
			if end < 0 {
				t.rest = b
				return keys
			}
			keys = append(keys, t.insert(string(b[:seen+end]))...)
			b, t.pasting = b[seen+end+len(pasteEnd):], false
		}
		seen = 0
		var head []byte
		head, b, t.pasting = bytes.Cut(b, []byte(pasteStart))
		if !t.pasting {
			n := begun(head)
			t.rest, head = bytes.Clone(head[n:]), head[:n]
		}
		keys = append(keys, t.keys(head)...)
	}
	return keys
}

// begun returns where a sequence or a character begins at the end of typed bytes that is not complete.
func begun(b []byte) int {
	if i := bytes.LastIndexByte(b, pasteStart[0]); i >= 0 && strings.HasPrefix(pasteStart, string(b[i:])) {
		return i
	}
	for i := max(0, len(b)-utf8.UTFMax); i < len(b); i++ {
		if b[i] >= utf8.RuneSelf && utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			return i
		}
	}
	return len(b)
}

// keys returns the keys of typed bytes.
func (t *typing) keys(b []byte) (keys []byte) {
	other := func(r rune) bool { return r >= utf8.RuneSelf }
	for len(b) > 0 {
		n := bytes.IndexFunc(b, other)
		if n < 0 {
			n = len(b)
		}
		keys = append(keys, translation.Replace(string(b[:n]))...)
		b = b[n:]
		n = len(b) - len(bytes.TrimLeftFunc(b, other))
		keys = append(keys, t.insert(string(b[:n]))...)
		b = b[n:]
	}
	return keys
}

// insert keeps a text for pressed and returns the key that inserts it. The line break at the end of a paste is left out.
func (t *typing) insert(text string) string {
	text = strings.TrimSuffix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(text, "\uFFFD")), "\n")
	if text == "" {
		return ""
	}
	t.inserts = append(t.inserts, text)
	return string(rune(keyInsert))
}

// offer returns the key that inserts a text.
func (t *typing) offer(text string) []byte {
	t.input.Lock()
	defer t.input.Unlock()
	return []byte(t.insert(text))
}

// inPaste reports whether typed bytes belong to a paste, at least in part.
func (t *typing) inPaste(typed []byte) bool {
	t.input.Lock()
	defer t.input.Unlock()
	return t.pasting || bytes.Contains(typed, []byte(pasteStart))
}

// drop forgets what was typed and a paste that has not ended.
func (t *typing) drop() {
	t.input.Lock()
	defer t.input.Unlock()
	t.rest, t.pasting, t.filled = nil, false, false
}

// begun reports whether the line has text. It may be true for an empty line, until the next key.
func (t *typing) begun() bool {
	t.input.Lock()
	defer t.input.Unlock()
	return t.filled || t.pasting
}

// fill notes whether the line has text.
func (t *typing) fill(filled bool) {
	t.input.Lock()
	defer t.input.Unlock()
	t.filled = filled
}

// inserted returns the next text for keyInsert.
func (t *typing) inserted() string {
	t.input.Lock()
	defer t.input.Unlock()
	if len(t.inserts) == 0 {
		return ""
	}
	text := t.inserts[0]
	t.inserts = t.inserts[1:]
	return text
}

// longestLine is how many bytes golang.org/x/term lets a person type into a line, less some.
const longestLine = 4000

// pressed handles a key, as term.Terminal's AutoCompleteCallback. pos is in bytes.
func (t *typing) pressed(line string, pos int, key rune) (string, int, bool) {
	before, after := line[:pos], line[pos:]
	switch key {
	case keyTab:
		before = t.turn(before, t.completions)
	case keySearch:
		before = t.turn(before, t.history.matches)
	case keyInsert:
		before = t.join(before, t.inserted())
	case keyBreak:
		before += t.of("\n")
	case keyLeft:
		n := last(before)
		before, after = before[:n], before[n:]+after
	case keyRight:
		n := first(after)
		before, after = before+after[:n], after[n:]
	case keyBackspace:
		before = before[:last(before)]
	case keyLeave:
		if line == "" {
			t.leave()
			return "", 0, true
		}
		after = after[first(after):]
	case keyDelete:
		after = after[first(after):]
	case keyDropAll:
		before, after = "", ""
	case keyDropStart:
		before = ""
	case keyDropBefore:
		before = strings.TrimRight(before, " ")
		before = before[:strings.LastIndexByte(before, ' ')+1]
	case keyDropAfter:
		after = strings.TrimLeft(after, " ")
		after = after[len(after)-len(strings.TrimLeftFunc(after, func(r rune) bool { return r != ' ' })):]
	case keySwap:
		if after == "" {
			n := last(before)
			before, after = before[:n], before[n:]
		}
		n, i := first(after), last(before)
		before, after = before[:i]+after[:n]+before[i:], after[n:]
	case keyLayout:
	default:
		if key < ' ' || len(line) < longestLine && strings.IndexFunc(line, func(r rune) bool { return r >= firstCell }) < 0 {
			t.fill(line != "" || key >= ' ')
			return "", 0, false
		}
		before += string(key)
	}
	t.fill(before+after != "")
	line, pos = t.layout(before, after)
	return line, pos, true
}

// join adds a text to a line. A mark belongs to the character before it.
func (t *typing) join(line, text string) string {
	n := last(line)
	if letter := t.text(line[n:]); letter != "" && len(letter) < longText && markup.Cluster(letter+text) > len(letter) {
		return line[:n] + t.of(letter+text)
	}
	return line + t.of(text)
}

// Add implements term.History.
func (t *typing) Add(line string) { t.history.add(t.text(line)) }

// Len implements term.History.
func (t *typing) Len() int { return len(t.history.lines) }

// At implements term.History: 0 is the newest line.
func (t *typing) At(i int) string {
	line, _ := t.layout(t.of(t.history.lines[len(t.history.lines)-1-i]), "")
	return line
}

// isSpace reports whether a character separates words.
func isSpace(r rune) bool { return unicode.IsSpace(r) }

// turn replaces the text before the cursor by the next of its options. The same key again takes the one after it, and after the last
// the text as it was typed.
func (t *typing) turn(before string, find func(string) []string) string {
	text := t.text(before)
	if text != t.given || len(t.options) == 0 {
		t.options, t.next = find(text), 0
		if len(t.options) == 0 {
			return before
		}
		t.options = append(t.options, text)
	}
	t.given = t.options[t.next]
	t.next = (t.next + 1) % len(t.options)
	return t.of(t.given)
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
	if head == attachWord+" " || head != "" && strings.ContainsAny(word, "/~") {
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
	look = cmp.Or(look, ".")
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

// history are the messages and lines that were entered, the newest last. In the file a line break in one of them is lineBreak.
type history struct {
	path  string // "" keeps them in memory only
	lines []string
	err   error // the first failed write
}

// lineBreak is LINE SEPARATOR, which nobody types.
const lineBreak = "\u2028"

// Limits of the history's file: how many lines it has after a start, and the longest one in bytes.
const (
	keptLines = 1000
	keptBytes = 64 << 10
)

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
	if err != nil || len(b) == 0 {
		return h, err
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	kept := lines[max(0, len(lines)-keptLines):]
	for _, line := range kept {
		h.lines = append(h.lines, strings.ReplaceAll(line, lineBreak, "\n"))
	}
	if len(kept) < len(lines) {
		return h, os.WriteFile(path, []byte(strings.Join(kept, "\n")+"\n"), 0o600) //nolint:gosec // the path is the home's, not a text of others
	}
	return h, nil
}

// add keeps a line. Answers of one letter, repeats, and the longest texts are not kept.
func (h *history) add(line string) {
	if n := len(strings.TrimSpace(line)); n < 2 || n > keptBytes || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path == "" || h.err != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(strings.ReplaceAll(line, "\n", lineBreak) + "\n")
		if e := f.Close(); err == nil {
			err = e
		}
	}
	h.err = err
}

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
