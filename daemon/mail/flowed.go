package mail

import "strings"

// flowed joins the lines of a text that its sender's program has broken (RFC 3676, section 4): a line that ends in a space goes on in the next one of
// the same depth of quotes. The space belongs to the text unless deleted says that it was added. A space at the beginning of a line was added in
// any case, and the signature line "-- " is never joined.
func flowed(source string, deleted bool) string {
	var out strings.Builder
	open, before := false, 0 // the last line goes on, and its depth
	for line := range strings.Lines(source) {
		line, broken := strings.CutSuffix(strings.ReplaceAll(line, "\r\n", "\n"), "\n")
		rest := strings.TrimLeft(line, ">")
		depth := len(line) - len(rest)
		rest = strings.TrimPrefix(rest, " ") // stuffed
		signature := rest == "-- "
		if open = open && depth == before && !signature; !open {
			if out.Len() > 0 {
				out.WriteByte('\n')
			}
			if out.WriteString(strings.Repeat(">", depth)); depth > 0 && rest != "" {
				out.WriteByte(' ')
			}
		}
		open, before = strings.HasSuffix(rest, " ") && !signature && broken, depth
		if open && deleted {
			rest = strings.TrimSuffix(rest, " ")
		}
		out.WriteString(rest)
	}
	return out.String()
}
