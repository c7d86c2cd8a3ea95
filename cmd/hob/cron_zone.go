package main

import (
	"strings"
	"time"
	"unicode"

	"hob/cmd/hob/cli"
	"hob/scheduler"
)

// parseZone is the zone that --tz names. A name in other cases than its own is refused with the right one: the
// zone is kept by its name, on every machine. Some file systems would accept a name in the wrong case, and
// others would not.
func parseZone(name string) (*time.Location, error) {
	zone, err := scheduler.Zone(name)
	if err == nil {
		return zone, nil
	}
	hint := "for example --tz Europe/Berlin"
	for _, spelt := range []string{strings.ToUpper(name), capitalizeZone(name, false), capitalizeZone(name, true)} {
		if _, err := scheduler.Zone(spelt); err == nil {
			hint = "did you mean --tz " + spelt + "?"
			break
		}
	}
	return nil, cli.Usage(hint, "--tz %q is not the name of a time zone", name)
}

// capitalizeZone is the name of a zone with a capital at the beginning of each word, as the IANA database spells them: America/New_York. little: words
// of two letters have none, as in America/Port_of_Spain and America/Port-au-Prince.
func capitalizeZone(name string, little bool) string {
	text := []rune(strings.ToLower(name))
	begins := true
	for i, r := range text {
		if begins && (!little || leadingLetters(text[i:]) != 2 || i == 0) {
			text[i] = unicode.ToUpper(r)
		}
		begins = !unicode.IsLetter(r)
	}
	return string(text)
}

// leadingLetters is how many letters a text begins with.
func leadingLetters(text []rune) int {
	for i, r := range text {
		if !unicode.IsLetter(r) {
			return i
		}
	}
	return len(text)
}
