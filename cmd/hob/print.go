package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"hob/daemon/control/console"
)

// document prints one JSON document.
func (a *app) document(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

// table prints rows under a head. On a terminal the last column is cut to fit.
func (a *app) table(head []string, rows [][]string) error {
	_, err := io.WriteString(a.out, layout(head, rows, columns(a.out)))
	return err
}

// layout draws a table; width 0 means that nothing is cut.
func layout(head []string, rows [][]string, width int) string {
	all := append([][]string{head}, rows...)
	wide := make([]int, len(head))
	for _, row := range all {
		for i := range row {
			row[i] = oneLine(row[i])
			wide[i] = max(wide[i], cells(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range all {
		left := width
		line := ""
		for i, text := range row {
			if i == len(row)-1 {
				line += cut(text, left, width > 0)
				break
			}
			line += text + strings.Repeat(" ", wide[i]-cells(text)+2)
			left -= wide[i] + 2
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func oneLine(s string) string { return console.Clean(strings.Join(strings.Fields(s), " ")) }

// cut shortens a text to n cells; less than 10 are not worth cutting for.
func cut(s string, n int, on bool) string {
	if n = max(n, 10); !on || cells(s) <= n {
		return s
	}
	used, out := 1, ""
	for _, r := range s {
		if used += cell(r); used > n {
			break
		}
		out += string(r)
	}
	return strings.TrimRight(out, " ") + "…"
}

// cells is how wide a text is on a terminal.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cell(r)
	}
	return n
}

// cell is the width of a character: wide in East Asian scripts and for most pictures (Unicode Annex 11, roughly).
func cell(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || unicode.Is(unicode.Cf, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// clock shows an instant in the local zone; "-" when there is none.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// plural counts things: "1 job", "2 jobs".
func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + one + "s"
}

// thousands groups digits: 2,000,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// size shows bytes.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return plural(n, "byte")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// money shows millionths of the budget's currency.
func money(micros int64) string { return fmt.Sprintf("%.2f", float64(micros)/1e6) }

// span shows milliseconds.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// columns of the terminal that a stream is, 0 when it is none.
func columns(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
