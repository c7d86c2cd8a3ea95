package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/netguard"
)

// Heartbeat is the name of the job that checks the owner's standing requests in HEARTBEAT.md. No other job may have it.
const Heartbeat = "heartbeat"

// Gate is a free test before a paid run. A slot with a closed gate costs nothing; it leaves only a row. All parts that are set must open.
// The zero Gate is always open.
type Gate struct {
	Command string   `json:"command,omitempty"` // runs in the sandbox; opens on new output
	Exit    bool     `json:"exit,omitempty"`    // the command opens by exit code 0 instead
	URL     string   `json:"url,omitempty"`     // opens when its ETag or content is new
	Files   []string `json:"files,omitempty"`   // opens when the files of these paths and globs are new
	Content string   `json:"content,omitempty"` // a file that must contain more than headings, such as HEARTBEAT.md
	Active  string   `json:"active,omitempty"`  // hours of the day in the job's zone, "08:00-22:00"; they may cross midnight
	Idle    bool     `json:"idle,omitempty"`    // closed while hob is busy
}

// Always reports whether the gate is always open.
func (g Gate) Always() bool {
	return g.Command == "" && g.URL == "" && len(g.Files) == 0 && g.Content == "" && g.Active == "" && !g.Idle
}

// Equal reports whether two gates test the same.
func (g Gate) Equal(o Gate) bool {
	return g.Command == o.Command && g.Exit == o.Exit && g.URL == o.URL && slices.Equal(g.Files, o.Files) && g.Content == o.Content && g.Active == o.Active && g.Idle == o.Idle
}

// NoGate is the text that removes a job's gate.
const NoGate = "none"

// The prefixes of a gate's parts.
const (
	byExit  = "exit:"
	byURL   = "url:"
	byFiles = "files:"
)

// longestGate limits a gate's command, in bytes.
const longestGate = 8 << 10

// ParseGate parses a gate in the owner's notation: a command, which opens on new output; "exit:COMMAND", which opens on exit code 0;
// "url:ADDRESS"; "files:GLOB,GLOB". Each part has a line of its own. "" and "none" mean no gate. The error joins all faults.
func ParseGate(text string) (Gate, error) {
	var g Gate
	var command []string
	if strings.EqualFold(strings.TrimSpace(text), NoGate) {
		return g, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		word := strings.TrimSpace(line)
		if link, ok := strings.CutPrefix(word, byURL); ok {
			g.URL = strings.TrimSpace(link)
		} else if list, ok := strings.CutPrefix(word, byFiles); ok {
			g.Files = append(g.Files, SplitFiles(list)...)
		} else if first, ok := strings.CutPrefix(word, byExit); ok && len(command) == 0 {
			g.Exit, command = true, append(command, first)
		} else if word != "" || len(command) > 0 {
			command = append(command, line)
		}
	}
	g.Command = strings.TrimSpace(strings.Join(command, "\n"))
	return g, g.Check()
}

// Program returns the program that the command of a gate begins with; "" if that is a word of the shell, or not plain enough to tell.
func (g Gate) Program() string {
	words := strings.Fields(g.Command)
	if len(words) == 0 || strings.ContainsAny(words[0], "$=(){}[];|&<>\"'`\\*?!#") {
		return ""
	}
	// POSIX, Shell Command Language, 2.4 and 2.14, and the built-in utilities of 1.6.
	shell := strings.Fields("if for while until case : . break continue eval exec exit export readonly return set shift times trap unset alias bg cd command false fc fg getopts hash jobs kill newgrp pwd read true type ulimit umask unalias wait echo printf test source local")
	if slices.Contains(shell, words[0]) {
		return ""
	}
	return words[0]
}

// SplitFiles splits globs at commas. A comma inside braces belongs to its glob.
func SplitFiles(list string) []string {
	var out []string
	depth, from := 0, 0
	add := func(glob string) {
		if glob = strings.TrimSpace(glob); glob != "" {
			out = append(out, glob)
		}
	}
	for i, c := range list {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth = max(depth-1, 0)
		case c == ',' && depth == 0:
			add(list[from:i])
			from = i + 1
		}
	}
	add(list[from:])
	return out
}

// Words returns the gate in the notation of ParseGate; "" for no gate.
func (g Gate) Words() string {
	var lines []string
	if g.Command != "" {
		lines = append(lines, map[bool]string{true: byExit}[g.Exit]+g.Command)
	}
	if g.URL != "" {
		lines = append(lines, byURL+g.URL)
	}
	if len(g.Files) > 0 {
		lines = append(lines, byFiles+strings.Join(g.Files, ","))
	}
	return strings.Join(lines, "\n")
}

// Check returns all faults of a gate, or nil.
func (g Gate) Check() error {
	var list []error
	if len(g.Command) > longestGate || strings.ContainsRune(g.Command, 0) {
		list = append(list, fmt.Errorf("gate: want a command of at most %d bytes, without NUL", longestGate))
	}
	if g.Exit && g.Command == "" {
		list = append(list, errors.New("gate: exit needs a command"))
	}
	if g.URL != "" {
		if _, _, err := netguard.Canonical(g.URL); err != nil {
			list = append(list, fmt.Errorf("gate url %q: want an address like https://example.org/page: %w", g.URL, err))
		}
	}
	for _, glob := range g.Files {
		if strings.TrimSpace(glob) == "" || strings.ContainsRune(glob, 0) {
			list = append(list, fmt.Errorf("gate files %q: want a path or a glob", glob))
		}
	}
	if _, err := g.Awake(time.Time{}); err != nil {
		list = append(list, err)
	}
	return errors.Join(list...)
}

// Awake reports whether an instant is inside the gate's hours. wall is the instant in the job's zone. The first minute counts, the last
// does not. The same time twice means the whole day.
func (g Gate) Awake(wall time.Time) (bool, error) {
	if g.Active == "" {
		return true, nil
	}
	first, last, ok := strings.Cut(g.Active, "-")
	from, err1 := minute(first)
	to, err2 := minute(last)
	if !ok || cmp.Or(err1, err2) != nil {
		return false, fmt.Errorf("active %q: want hours of the day like 08:00-22:00", g.Active)
	}
	now := wall.Hour()*60 + wall.Minute()
	if from < to {
		return from <= now && now < to, nil
	}
	return now >= from || now < to, nil
}

// minute parses "08:00" into minutes since midnight; "24:00" is the end of the day.
func minute(text string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "24:00" {
		return 24 * 60, nil
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err
}
