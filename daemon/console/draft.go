package console

import "strings"

// fence begins and ends a message of several lines.
const fence = `"""`

// draft is a message that is being typed. A line that ends in \ continues on the next one, and so does everything between two fences.
// The zero value is an empty message. A message that is not complete exists only here, and Ctrl-C drops it.
type draft struct {
	lines []string
	block bool
}

// add appends one line. When the message is complete, ready is true and the draft is empty again.
func (d *draft) add(line string) (message string, ready bool) {
	if d.block {
		head, ends := strings.CutSuffix(strings.TrimRight(line, " "), fence)
		if !ends {
			d.lines = append(d.lines, line)
			return "", false
		}
		if head != "" {
			d.lines = append(d.lines, head)
		}
		return d.take(), true
	}
	if rest, begins := strings.CutPrefix(line, fence); begins && len(d.lines) == 0 {
		d.block = true
		if rest == "" {
			return "", false
		}
		return d.add(rest)
	}
	if head, goesOn := strings.CutSuffix(line, `\`); goesOn {
		d.lines = append(d.lines, head)
		return "", false
	}
	d.lines = append(d.lines, line)
	return d.take(), true
}

// open reports whether a message has been begun.
func (d *draft) open() bool { return d.block || len(d.lines) > 0 }

// take returns the finished message and begins a new draft.
func (d *draft) take() string {
	message := strings.Join(d.lines, "\n")
	*d = draft{}
	return strings.TrimSpace(message)
}
