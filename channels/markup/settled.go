package markup

import "strings"

// Settled returns the length of the whole blocks at the beginning of a growing text. Later text does not change how these blocks are shown.
func Settled(markdown string) int {
	settled, at := 0, 0
	fence, blank, list := "", false, false
	for line := range strings.Lines(markdown) {
		bare := strings.TrimLeft(line, " \t")
		mark := fenceOf(bare)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.Trim(bare, mark[:1]+" \r\n") == "" {
				fence = ""
			}
			blank = false
		case strings.TrimSpace(line) == "":
			blank = true
		default:
			// After an empty line a list may continue with its next item or with an indented line.
			item := listMark(bare)
			if blank && len(bare) == len(line) && !(list && item) {
				settled, list = at, false
			}
			list = list || item
			fence, blank = mark, false
		}
		at += len(line)
	}
	return settled
}

// fenceOf returns the mark with which a line begins or ends a code block, "" for none.
func fenceOf(line string) string {
	n := len(line) - len(strings.TrimLeft(line, line[:min(1, len(line))]))
	if n < 3 || line[0] != '`' && line[0] != '~' {
		return ""
	}
	return line[:n]
}

// listMark reports whether a line may begin a list item, even if the line is not complete yet.
func listMark(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if rest == line {
		rest = strings.TrimLeft(line[:min(1, len(line))], "-*+") + line[min(1, len(line)):]
		return rest != line && (rest == "" || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n')
	}
	return rest == "" || rest[0] == '.' || rest[0] == ')'
}
