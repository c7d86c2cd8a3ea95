package phrase

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// zoned refuses a zone after a schedule: "at 9 UTC", "at 9 in New York", "at 9 Berlin time". The zone of a schedule is a separate
// setting. Without this error the zone would become part of the prompt, and the schedule would run in the wrong zone.
func (p *parser) zoned() error {
	mark := p.in.pos
	in := p.in.take("in")
	short := zoneWord(p.in.word(0))
	name, ok := p.place(in)
	if !ok && !short {
		p.in.pos = mark
		return nil
	}
	p.in.pos = mark
	example := "e.g. Europe/Berlin"
	if ok {
		example = "here " + name
	}
	return p.in.unclear("not %q: the zone is not part of a schedule; give it by itself, %s (hob cron add has --tz for it)", p.in.rest(), example)
}

// zoneWord reports whether a word is a zone's abbreviation and not also an English word.
// MET, WET and EAT are missing for that reason.
func zoneWord(word string) bool {
	return slices.Contains([]string{"utc", "gmt", "cet", "cest", "eet", "eest", "bst", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "ist", "jst"}, word)
}

// longestPlace is the largest number of words in the name of a zone's city.
const longestPlace = 3

// place finds the zone of a city by its IANA name. The city must follow "in" or precede "time", unless the full zone name is given.
// in says that the word "in" was read.
func (p *parser) place(in bool) (string, bool) {
	if name := p.raw(0); strings.Contains(name, "/") && isZone(name) {
		return name, true
	}
	// Cities are written with capital letters; "time" after them makes sure.
	var words []string
	for i := range longestPlace {
		word := p.raw(i)
		first := []rune(word + " ")[0]
		if !unicode.IsUpper(first) {
			break
		}
		words = append(words, word)
	}
	// Try the longest name first.
	for n := len(words); n > 0; n-- {
		if !in && p.in.word(n) != "time" {
			continue
		}
		city := strings.Join(words[:n], "_")
		// The text does not name the area, so each one is tried.
		for _, area := range []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"} {
			if name := area + "/" + city; isZone(name) {
				return name, true
			}
		}
	}
	return "", false
}

// raw returns the word i words ahead as it was written.
func (p *parser) raw(i int) string {
	if p.in.pos+i >= len(p.in.toks) {
		return ""
	}
	t := p.in.toks[p.in.pos+i]
	return p.in.text[t.start:t.end]
}

// isZone reports whether a name is that of a time zone. It must look like one, because LoadLocation opens files.
func isZone(name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && r != '-' && r != '/' }) {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}
