package document

import (
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
)

// Limits of fonts.
const (
	maxFonts  = 2000
	maxCodes  = 1 << 17 // entries of a map from codes to text
	usualWide = 0.5     // assumed width of a letter, in units of the font size
)

// font converts the bytes of strings to text, and knows their widths.
type font struct {
	double bool              // codes have two bytes
	named  map[string]string // ToUnicode: text by code
	plain  [256]string       // text of one-byte codes that are not in named
	coded  pdf.TextEncoding  // decodes longer codes that are not in named
	wide   map[int]float64   // width by code, in units of the font size
	other  float64           // width of all other codes; 0: estimate it by the letter
}

// font returns the font for a dictionary. It reads each dictionary once.
func (b *pdfFile) font(v pdf.Value) *font {
	// The written form of the dictionary is the key: equal dictionaries are one font.
	key := v.String()
	if f := b.fonts[key]; f != nil {
		return f
	}
	f := newFont(v)
	// Beyond the limits fonts are read each time they are used, which is slower.
	if len(b.fonts) < maxFonts && len(key) < 1<<16 {
		b.fonts[key] = f
	}
	return f
}

// newFont reads the encoding and the widths of a font.
func newFont(v pdf.Value) *font {
	f := &font{double: v.Key("Subtype").Name() == "Type0", wide: map[int]float64{}}
	f.named = namesOf(v)
	f.coded = encoder(v)
	if f.double {
		f.widthsOf(v.Key("DescendantFonts").Index(0))
		return f
	}
	for i := range f.plain {
		f.plain[i] = f.coded.Decode(string([]byte{byte(i)}))
	}
	first, list := int(v.Key("FirstChar").Int64()), v.Key("Widths")
	// Widths are thousandths of the font size, except in Type 3 fonts, which have a matrix of their own (9.6.5).
	scale := 1000.0
	if m := v.Key("FontMatrix"); v.Key("Subtype").Name() == "Type3" && m.Index(0).Float64() != 0 {
		scale = 1 / m.Index(0).Float64()
	}
	for i := range min(list.Len(), 256) {
		f.wide[first+i] = list.Index(i).Float64() / scale
	}
	if list.Len() > 0 {
		f.other = v.Key("FontDescriptor").Key("MissingWidth").Float64() / scale
	} else if strings.Contains(v.Key("BaseFont").Name(), "Courier") {
		f.other = 0.6
	}
	return f
}

// encoder returns the library's decoder for a font. If the encoding is broken, it falls back to
// latin, which still shows plain letters.
func encoder(v pdf.Value) (e pdf.TextEncoding) {
	defer func() {
		if recover() != nil {
			e = latin{}
		}
	}()
	f := pdf.Font{V: v}
	return f.Encoder()
}

// latin decodes each byte as the code point with its number.
type latin struct{}

// Decode converts each byte to the code point with its number.
func (latin) Decode(raw string) string {
	out := make([]rune, len(raw))
	for i := range len(raw) {
		out[i] = rune(raw[i])
	}
	return string(out)
}

// widthsOf reads the widths of a font with two-byte codes (ISO 32000-1, 9.7.4.3).
func (f *font) widthsOf(v pdf.Value) {
	f.other = 1
	if d := v.Key("DW"); !d.IsNull() {
		f.other = d.Float64() / 1000
	}
	w := v.Key("W")
	for i := 0; i+1 < w.Len() && len(f.wide) < maxCodes; {
		first, second := int(w.Index(i).Int64()), w.Index(i+1)
		// Two forms: "c [w1 w2 ...]" for consecutive codes, "first last w" for a range with one width.
		if second.Kind() == pdf.Array {
			for j := range second.Len() {
				f.wide[first+j] = second.Index(j).Float64() / 1000
			}
			i += 2
			continue
		}
		width := w.Index(i+2).Float64() / 1000
		for c := first; c <= min(int(second.Int64()), first+0xffff) && len(f.wide) < maxCodes; c++ {
			f.wide[c] = width
		}
		i += 3
	}
}

// read returns the text of a string, its width in units of the font size, and its numbers of codes
// and single-byte spaces.
func (f *font) read(raw string) (text string, width float64, codes, spaces int) {
	var b strings.Builder
	for len(raw) > 0 {
		n := 1
		if f.double && len(raw) > 1 {
			n = 2
		}
		code := raw[:n]
		raw = raw[n:]
		letter := f.letter(code)
		b.WriteString(letter)
		width += f.width(code, letter)
		codes++
		if code == " " {
			spaces++
		}
	}
	return b.String(), width, codes, spaces
}

// letter returns the text of one code.
func (f *font) letter(code string) string {
	if s, ok := f.named[code]; ok {
		return s
	}
	if len(code) == 1 {
		return f.plain[code[0]]
	}
	// A ToUnicode map is meant to be complete: a code that it lacks has no text.
	if f.named != nil {
		return ""
	}
	return f.coded.Decode(code)
}

// width returns the width of one code, in units of the font size.
func (f *font) width(code, letter string) float64 {
	n := 0
	for i := range len(code) {
		n = n<<8 | int(code[i])
	}
	if w, ok := f.wide[n]; ok {
		return w
	}
	if f.other != 0 || len(f.wide) > 0 {
		return f.other
	}
	return usual(letter)
}

// usual estimates the width of a letter for the standard fonts, which need not contain widths
// (Helvetica and others).
func usual(letter string) float64 {
	switch {
	case letter == "":
		return 0
	case strings.Contains(" ijltf.,:;'|!I()[]/-", letter):
		return 0.28
	case strings.Contains("mwMW@%", letter):
		return 0.83
	case len(letter) == 1 && letter[0] >= 'A' && letter[0] <= 'Z':
		return 0.68
	}
	return usualWide
}

// namesOf reads a font's ToUnicode map (ISO 32000-1, 9.10.3). It returns nil if there is none, and
// the valid beginning of a broken one.
func namesOf(v pdf.Value) (names map[string]string) {
	content := v.Key("ToUnicode")
	if content.Kind() != pdf.Stream {
		return nil
	}
	names = map[string]string{}
	defer func() { _ = recover() }() // the library panics on broken input
	pdf.Interpret(content, func(stk *pdf.Stack, op string) {
		args := make([]pdf.Value, stk.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		switch op {
		case "findresource":
			stk.Push(v) // any dictionary will do for the "begin" that follows
		case "endbfchar":
			for i := 0; i+1 < len(args) && len(names) < maxCodes; i += 2 {
				names[args[i].RawString()] = wide(args[i+1].RawString())
			}
		case "endbfrange":
			for i := 0; i+2 < len(args) && len(names) < maxCodes; i += 3 {
				nameRange(names, args[i].RawString(), args[i+1].RawString(), args[i+2])
			}
		}
	})
	return names
}

// nameRange maps the codes from lo to hi, which differ in their last byte only: to the texts of a
// list, or to consecutive texts.
func nameRange(names map[string]string, lo, hi string, to pdf.Value) {
	if lo == "" || len(lo) != len(hi) || lo[:len(lo)-1] != hi[:len(hi)-1] {
		return
	}
	last := len(lo) - 1
	for i := 0; i <= int(hi[last])-int(lo[last]); i++ {
		code := lo[:last] + string([]byte{lo[last] + byte(i)})
		if to.Kind() == pdf.Array {
			names[code] = wide(to.Index(i).RawString())
			continue
		}
		text := []rune(wide(to.RawString()))
		if n := len(text); n > 0 {
			text[n-1] += rune(i)
		}
		names[code] = string(text)
	}
}

// wide decodes big-endian UTF-16.
func wide(s string) string {
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}
