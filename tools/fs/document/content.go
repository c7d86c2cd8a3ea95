package document

import "github.com/ledongthuc/pdf"

// Limits of a page's program.
const (
	maxForms  = 12  // nesting depth of forms
	maxStates = 256 // depth of the stack of states
)

// matrix is [a b c d e f] as in ISO 32000-1, 8.3.3.
type matrix [6]float64

// identity returns the matrix that changes nothing.
func identity() matrix { return matrix{1, 0, 0, 1, 0, 0} }

// times returns the product of m and n: first m, then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the part of the graphics state that decides where text is placed (ISO 32000-1, 9.3).
type state struct {
	font                        *font
	size, chars, words, leading float64
	stretch                     float64 // Tz, 1 is normal
	rise                        float64
	set                         bool // whether stretch was set
}

// textExtractor runs a page's program and collects the text that it shows.
type textExtractor struct {
	file  *pdfFile
	out   layout
	at    matrix // transformation from user space to the page
	state state
	saved []saved
	text  matrix // Tm
	line  matrix // Tlm
}

// saved is a graphics state on the stack.
type saved struct {
	at    matrix
	state state
}

// run executes a content stream, or an array of them, with its resources.
func (s *textExtractor) run(content, res pdf.Value, deep int) {
	if k := content.Kind(); k != pdf.Stream && k != pdf.Array {
		return
	}
	pdf.Interpret(content, func(stk *pdf.Stack, op string) {
		// The operands are on the stack in reverse order.
		args := make([]pdf.Value, stk.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		// Do and Tf refer to resources by name; all other operators need only their operands.
		if op == "Do" && len(args) == 1 {
			s.form(res.Key("XObject").Key(args[0].Name()), res, deep)
			return
		}
		if op == "Tf" && len(args) == 2 {
			s.state.font, s.state.size = s.file.font(res.Key("Font").Key(args[0].Name())), args[1].Float64()
			return
		}
		s.step(op, args)
	})
}

// form executes a form: a program that several pages may share.
func (s *textExtractor) form(x, outer pdf.Value, deep int) {
	if x.Key("Subtype").Name() != "Form" || deep >= maxForms {
		return
	}
	at, st, n := s.at, s.state, len(s.saved)
	if m := x.Key("Matrix"); m.Len() == 6 {
		s.at = matrixOf(m).times(s.at)
	}
	// An old form without resources of its own uses those of the page (ISO 32000-1, 7.8.3).
	res := x.Key("Resources")
	if res.IsNull() {
		res = outer
	}
	s.run(x, res, deep+1)
	// The page continues with its own state, even if the form did not restore what it saved.
	s.at, s.state, s.saved = at, st, s.saved[:min(n, len(s.saved))]
}

// matrixOf converts an array of six numbers.
func matrixOf(v pdf.Value) (m matrix) {
	for i := range m {
		m[i] = v.Index(i).Float64()
	}
	return m
}

// numbers converts the operands to numbers. Missing ones are 0.
func numbers(args []pdf.Value) (n [6]float64) {
	for i := range min(len(args), len(n)) {
		n[i] = args[i].Float64()
	}
	return n
}

// step executes one operator (ISO 32000-1, annex A).
func (s *textExtractor) step(op string, args []pdf.Value) {
	n := numbers(args)
	switch op {
	case "q":
		// Beyond the limit a broken or hostile page loses states, but no memory.
		if len(s.saved) < maxStates {
			s.saved = append(s.saved, saved{s.at, s.state})
		}
	case "Q":
		if i := len(s.saved) - 1; i >= 0 {
			s.at, s.state, s.saved = s.saved[i].at, s.saved[i].state, s.saved[:i]
		}
	case "cm":
		s.at = matrix(n).times(s.at)
	// Each text object starts at the origin.
	case "BT":
		s.text, s.line = identity(), identity()
	case "Tm":
		s.text, s.line = matrix(n), matrix(n)
	case "Td":
		s.move(n[0], n[1])
	case "TD":
		s.state.leading = -n[1]
		s.move(n[0], n[1])
	case "T*":
		s.move(0, -s.state.leading)
	case "Tj", "'", `"`, "TJ":
		s.say(op, args)
	default:
		s.state.change(op, n[0])
	}
}

// change sets a text state parameter.
func (t *state) change(op string, v float64) {
	switch op {
	case "Tc":
		t.chars = v
	case "Tw":
		t.words = v
	case "Tz":
		t.stretch, t.set = v/100, true
	case "TL":
		t.leading = v
	case "Ts":
		t.rise = v
	}
}

// move goes to the start of a new line, relative to the current one.
func (s *textExtractor) move(x, y float64) {
	s.line = matrix{1, 0, 0, 1, x, y}.times(s.line)
	s.text = s.line
}

// say executes the operators that show text.
func (s *textExtractor) say(op string, args []pdf.Value) {
	if len(args) == 0 {
		return
	}
	last := args[len(args)-1]
	// The operator " sets the word and character spacing, then goes to the next line and shows the string.
	if op == `"` && len(args) == 3 {
		s.state.words, s.state.chars = args[0].Float64(), args[1].Float64()
	}
	if op == "'" || op == `"` {
		s.move(0, -s.state.leading)
	}
	if op != "TJ" {
		s.show(last.RawString())
		return
	}
	for i := range last.Len() {
		if x := last.Index(i); x.Kind() == pdf.String {
			s.show(x.RawString())
		} else {
			// Numbers in a TJ array are thousandths of the font size, and move to the left.
			s.forward(-x.Float64() / 1000 * s.state.size)
		}
	}
}

// forward moves along the line by a distance in unstretched text space.
func (s *textExtractor) forward(by float64) {
	if s.state.set {
		by *= s.state.stretch
	}
	s.text = matrix{1, 0, 0, 1, by, 0}.times(s.text)
}

// show adds a string at the current position to the layout.
func (s *textExtractor) show(raw string) {
	if s.state.font == nil {
		s.state.font = s.file.font(pdf.Value{})
	}
	text, width, codes, spaces := s.state.font.read(raw)
	from := matrix{1, 0, 0, 1, 0, s.state.rise}.times(s.text).times(s.at)
	// Only single-byte spaces get the word spacing (ISO 32000-1, 9.3.3).
	s.forward(width*s.state.size + float64(codes)*s.state.chars + float64(spaces)*s.state.words)
	to := matrix{1, 0, 0, 1, 0, s.state.rise}.times(s.text).times(s.at)
	s.out.put(text, point{from[4], from[5]}, point{to[4], to[5]}, from.scale()*s.state.size)
}
