package text

import (
	"bytes"
	_ "embed"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Sizes in bytes.
const (
	sampled  = 16 << 10 // what Detect looks at
	searched = 16 << 20 // how far Sample searches for a byte that is not ASCII
)

// Sample returns the part of a file by which Detect recognises its encoding: the beginning if that tells, otherwise the lines around the first byte
// that is not ASCII. whole says whether it is the complete file.
func Sample(r io.ReaderAt, size int64) (sample []byte, whole bool, err error) {
	for at := int64(0); at < min(size, searched); at += sampled {
		sample, err = io.ReadAll(io.NewSectionReader(r, at, 2*sampled))
		if err != nil || at+2*sampled >= size || !plainASCII(sample[:sampled]) {
			return sample, at == 0 && int64(len(sample)) >= size, err
		}
	}
	return sample, false, nil
}

// plainASCII reports whether a text has only characters of ASCII, without NUL and Escape.
func plainASCII(raw []byte) bool {
	for _, b := range raw {
		if b >= utf8.RuneSelf || b == 0 || b == 0x1b {
			return false
		}
	}
	return true
}

// Detect finds the encoding of a text that declares none. Beyond a byte order mark, UTF-8 and UTF-16 it needs a reading that makes sense: letters of
// one language, and of Chinese, Japanese and Korean its everyday characters. It is false if there is none, or if several give different texts.
// Among the Latin ones windows-1252 is shown nevertheless, and what is written must be the same in all (Encode).
func Detect(raw []byte, whole bool) (Encoding, bool) {
	e, ok := detect(raw, whole)
	if at := bytes.IndexByte(raw, '\r'); ok && at >= 0 && at+1 < len(raw) && bytes.IndexByte(raw, '\n') < 0 {
		e.lone = true
	}
	return e, ok
}

// detect finds the encoding, whatever the lines end in.
func detect(raw []byte, whole bool) (Encoding, bool) {
	if e, ok := marked(raw); ok {
		return e, e.UTF8() || Legible(e.Decode(raw[:len(raw)&^1]))
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		return unmarked16(raw)
	}
	if !whole { // the sample may end within a character
		if end := bytes.LastIndexByte(raw, '\n') + 1; end > 0 {
			raw = raw[:end]
		} else {
			for cut := 1; cut < utf8.UTFMax && cut <= len(raw); cut++ {
				if end := len(raw) - cut; utf8.RuneStart(raw[end]) && !utf8.FullRune(raw[end:]) && utf8.Valid(raw[:end]) {
					return Encoding{}, true
				}
			}
		}
	}
	jis, _ := Labelled("iso-2022-jp")
	if bytes.Contains(raw, []byte("\x1b$")) && sensible(jis.Decode(raw), languages()[0]) >= 0 {
		return jis, true
	}
	if utf8.Valid(raw) {
		return Encoding{}, true
	}
	if mostlyUTF8(raw) {
		return Encoding{}, false // some lines are in another encoding
	}
	return legacy(excerpt(raw), whole && len(raw) <= sampled)
}

// excerpt returns the lines from the first byte on that is not ASCII.
func excerpt(raw []byte) []byte {
	first := bytes.IndexFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf })
	raw = raw[bytes.LastIndexByte(raw[:max(0, first)], '\n')+1:]
	if len(raw) <= sampled {
		return raw
	}
	if end := bytes.LastIndexByte(raw[:sampled], '\n'); end > 0 {
		return raw[:end]
	}
	return raw[:sampled]
}

// legacy finds the encodings in which a text makes sense.
func legacy(raw []byte, whole bool) (Encoding, bool) {
	type reading struct {
		Encoding
		text  string
		score float64
	}
	var found []reading
	best := 0.0
	for _, l := range languages() {
		for _, label := range strings.Fields(l.labels) {
			e, _ := Labelled(label)
			text := e.Decode(raw)
			for cut := 1; cut < 4 && !whole && cut < len(raw) && bytes.ContainsRune(text, utf8.RuneError); cut++ {
				text = e.Decode(raw[:len(raw)-cut]) // the last character may be incomplete
			}
			if score := sensible(text, l); score >= 0 {
				found, best = append(found, reading{e, string(text), score}), max(best, score)
			}
		}
	}
	var list []reading
	for _, r := range found {
		// Two readings with the same text are one, and the first is the usual one.
		same := func(o reading) bool { return o.text == r.text }
		if r.score >= best*0.7 && !slices.ContainsFunc(list, same) {
			list = append(list, r)
		}
	}
	if len(list) == 0 || len(list) > 1 && list[0].name != "windows-1252" {
		return Encoding{}, false
	}
	e := list[0].Encoding
	for _, o := range list[1:] {
		e.others = append(e.others, o.Encoding)
	}
	return e, true
}

// language says how texts of one language look in old encodings. The fields are those of languages.txt.
type language struct {
	labels, letters, need, usual string
	least                        float64
	latin                        bool
}

//go:embed languages.txt
var table string

// languages lists what Detect knows.
var languages = sync.OnceValue(func() (list []language) {
	for line := range strings.Lines(table) {
		if f := strings.Split(strings.TrimRight(line, "\r\n")+"\t\t\t\t", "\t"); line[0] != '#' {
			least, _ := strconv.ParseFloat(f[4], 64)
			list = append(list, language{f[0], f[1], f[2], f[3], least, f[1] != "" && least == 0})
		}
	}
	return list
})

// typographic is the punctuation that old texts have beside letters, and jointed what may be between two letters.
const (
	typographic = "“”„‘’‚«»‹›–—•…€£¥§©®™°·¡¿×±½¼¾²³µªº†‡№¶÷¢\u00a0\u00ad"
	jointed     = "’–—·…°µ\u00ad\u00a0"
)

// sensible returns how well a text fits to a language, or -1.
func sensible(text []byte, l language) float64 {
	letters, usual, needed, ascii, words := 0, 0, l.need == "", 0, 0
	runes := []rune(string(text))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if r < utf8.RuneSelf {
			continue
		}
		between := i > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1])
		switch {
		case r == utf8.RuneError, r < 0xA0, unicode.Is(unicode.Co, r):
			return -1
		case l.letters == "" && (!unicode.IsLetter(r) || r >= 0xFF01 && r <= 0xFF5E):
			continue
		case l.letters != "" && strings.ContainsRune(typographic, r) && (!between || strings.ContainsRune(jointed, r)):
			continue
		case l.letters != "" && !strings.ContainsRune(l.letters, r):
			return -1
		}
		letters++
		needed = needed || strings.ContainsRune(l.need, r)
		if strings.ContainsRune(l.usual, r) {
			usual++
		}
		// A letter of a Latin language is in a word with letters of ASCII, or is a word. Letters of other scripts are not.
		near := 0
		for _, at := range []int{i - 1, i + 1} {
			if at >= 0 && at < len(runes) && unicode.IsLetter(runes[at]) {
				near++
				if runes[at] < utf8.RuneSelf {
					ascii++
				}
			}
		}
		if near > 0 {
			words++
		}
	}
	switch {
	case !needed, l.latin && ascii*2 < words, l.letters != "" && !l.latin && ascii*4 > words:
		return -1
	case l.latin:
		return 1
	case letters == 0 || l.usual == "", usual < 2:
		return -1
	}
	if share := float64(usual) / float64(letters); share >= l.least {
		return share
	}
	return -1
}

// unmarked16 recognises UTF-16 without a byte order mark (RFC 2781): nearly every second byte is zero and hardly any other one.
func unmarked16(raw []byte) (Encoding, bool) {
	var zeros [2]int // Western text has them in the high bytes: at odd offsets it is little-endian
	for i, b := range raw {
		if b == 0 {
			zeros[i%2]++
		}
	}
	label := ""
	switch most := len(raw) * 2 / 5; {
	case len(raw) < 8:
	case zeros[1] > most && zeros[0]*20 <= most:
		label = "utf-16le"
	case zeros[0] > most && zeros[1]*20 <= most:
		label = "utf-16be"
	}
	e, ok := Labelled(label)
	return e, ok && Legible(e.Decode(raw[:len(raw)&^1])) // binary data can have the same pattern of zeros
}

// Legible reports whether the bytes are text: no NUL, few control characters and few invalid UTF-8 sequences. Text in other 8-bit encodings passes if
// it is mostly letters.
func Legible(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	// Escape (0x1b) is permitted, because logs hold terminal colours.
	odd, all := 0, 0
	for rest := head; len(rest) > 0; all++ {
		r, n := utf8.DecodeRune(rest)
		// The head may end in the middle of a character; that is no invalid sequence.
		cut := r == utf8.RuneError && n == 1 && len(rest) < utf8.UTFMax && !utf8.FullRune(rest)
		if r < 0x20 && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != '\b' && r != 0x1b || r == utf8.RuneError && n == 1 && !cut {
			odd++
		}
		rest = rest[n:]
	}
	// At most 30 % of the characters may be odd.
	return odd*10 <= all*3
}
