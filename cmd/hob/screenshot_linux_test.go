package main_test

import (
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// picture is the file that the README shows.
const picture = "../../docs/images/first-minutes.svg"

// The size of the picture's terminal in cells, and of a cell in pixels.
const screenColumns, screenRows, cellWidth, cellHeight = 80, 27, 8.4, 18.0

// firstMinutes is what a new user types, each with a part of the answer to it.
var firstMinutes = []struct{ typed, answer string }{
	{"", "Ctrl-D"},
	{"remind me in 20 minutes to stretch", "I will remind you"},
	{"every weekday at 9: run df -h .", "I will do this"},
	{"remember that the plumber is Jo, 555-0101", "Remembered"},
	{"what are my jobs?", "run-df-h"},
}

// TestScreenshot runs hob up on a terminal, types what a new user would type, and compares the screen with the picture in the README, but
// for times and numbers. With -update it draws the picture.
func TestScreenshot(t *testing.T) {
	home := t.TempDir()
	cmd, screen, terminal := onTerminal(t.Context(), t, "up")
	cmd.Env = append(os.Environ(), "HOME="+home, "HOB_HOME="+filepath.Join(home, ".hob"), "TZ=UTC", "TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR=")
	if err := pty.Setsize(screen, &pty.Winsize{Rows: screenRows, Cols: screenColumns}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	drawn := vt.NewEmulator(screenColumns, screenRows)
	go func() { _, _ = io.Copy(screen, drawn) }() // what the terminal answers to the program
	stop := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	b := make([]byte, 4096)
	for _, line := range firstMinutes {
		if _, err := screen.WriteString(line.typed); err != nil {
			t.Fatal(err)
		}
		if line.typed != "" {
			if _, err := screen.WriteString("\r"); err != nil {
				t.Fatal(err)
			}
		}
		for !replied(drawn.String(), line.typed, line.answer) {
			n, err := screen.Read(b)
			if err != nil {
				t.Fatalf("%v; the screen shows\n%s", err, drawn.String())
			}
			if _, err := drawn.Write(b[:n]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *update {
		if err := os.WriteFile(picture, []byte(strings.ReplaceAll(svg(drawn), home, "/home/sam")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if was, is := timeless(texts(string(kept))), timeless(strings.ReplaceAll(drawn.String(), home, "/home/sam")); was != is {
		t.Errorf("the picture in the README shows\n%s\nhob shows\n%s\nlook at it, then: go test ./cmd/hob -run TestScreenshot -update", was, is)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// replied tells whether the screen shows the typed line, a part of the answer below it, and the next prompt.
func replied(screen, typed, answer string) bool {
	_, below, ok := strings.Cut(screen, typed)
	return ok && strings.Contains(below, answer) && strings.HasSuffix(strings.TrimRight(screen, " \r\n"), "\n>")
}

// variable is what differs between two runs: numbers, days (also "on Monday") and months, and how many spaces stand between words.
var variable = regexp.MustCompile(`\d+|\b(?:to(?:day|morrow)|(?:on )?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)\b|\s+`)

// listed is the time in a list, which has a day or none: "in 19 min", "tomorrow 09:00", "Mon 30 Nov 09:00".
var listed = regexp.MustCompile(`\bin \d+ (?:min|s)\b|(?:\bto(?:day|morrow)|\b[A-Z][a-z]{2} \d+ [A-Z][a-z]{2}(?: \d{4})?) \d\d:\d\d\b`)

// timeless is a text without what differs between two runs.
func timeless(text string) string {
	return strings.TrimSpace(variable.ReplaceAllStringFunc(listed.ReplaceAllString(text, "#"), func(s string) string {
		if strings.TrimSpace(s) == "" {
			return " "
		}
		return "#"
	}))
}

// texts is the text of a picture.
func texts(svg string) string {
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(svg, ""))
}

// svg draws a terminal: a dark window, and one text per run of cells of the same style.
func svg(screen *vt.Emulator) string {
	var b strings.Builder
	width, height := int(screenColumns*cellWidth)+32, int(screenRows*cellHeight)+32
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#1e2127\"/>\n", width, height)
	b.WriteString("<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#d7dae0\" xml:space=\"preserve\">\n")
	for y := range screenRows {
		for x := 0; x < screenColumns; {
			from, run, style := x, "", screen.CellAt(x, y).Style
			for x < screenColumns && screen.CellAt(x, y).Style.Equal(&style) {
				cell := screen.CellAt(x, y)
				run += cell.Content
				x += max(1, cell.Width)
			}
			if strings.TrimSpace(run) != "" {
				fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", 16+float64(from)*cellWidth, 28+float64(y)*cellHeight, look(style), html.EscapeString(strings.TrimRight(run, " ")))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// palette is the look of the terminal's first eight colours.
var palette = [...]string{"#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"}

// look is a style as attributes of a text.
func look(style uv.Style) string {
	var attributes string
	if style.Attrs&uv.AttrBold != 0 {
		attributes += ` font-weight="bold"`
	}
	if style.Attrs&uv.AttrFaint != 0 {
		attributes += ` opacity="0.6"`
	}
	if style.Attrs&uv.AttrItalic != 0 {
		attributes += ` font-style="italic"`
	}
	if c, ok := style.Fg.(ansi.BasicColor); ok {
		attributes += fmt.Sprintf(" fill=%q", palette[c%8])
	}
	return attributes
}
