package skills

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hob/daemon/sys"
	"hob/tools"
)

// MaxArgs limits the arguments of a skill, in bytes.
const MaxArgs = 8_000

// place matches the parts of a skill that arguments replace: $1 to $9, $ARGUMENTS, $name, and \$ for a literal dollar sign.
var place = sys.Regexp(`\\\$|\$(?:[1-9]\b|ARGUMENTS\b|[a-z][a-z0-9_]*\b)`)

// word is an argument, quoted or not.
type word struct {
	text   string
	key    string // of key=value; "": it is not one
	quoted bool
}

// Fill puts arguments into the text of a skill. $1 to $9 are the words, in quotes if they contain spaces. $ARGUMENTS is the whole text as
// it was written. $name is the value of name=value. Without such places the arguments follow the text. name is the skill's, for hints.
//
// More words than places are refused, because it is unknown which of them belong together. Without arguments nothing is replaced.
func Fill(name, body, args string) (string, error) {
	args = strings.TrimSpace(args)
	if len(args) > MaxArgs {
		return "", tools.Refuse(tools.Validation, "put it into a file, and name the file", "the arguments are longer than %d bytes", MaxArgs)
	}
	if args == "" {
		return strings.ReplaceAll(body, "$ARGUMENTS", ""), nil
	}
	list, err := words(args)
	if err != nil {
		return "", err
	}
	used := place().FindAllString(body, -1)
	values := map[string]string{"$ARGUMENTS": args}
	var positional []word
	for _, w := range list {
		if w.key == "" || !slices.Contains(used, "$"+w.key) {
			positional = append(positional, w)
			continue
		}
		if _, twice := values["$"+w.key]; twice {
			return "", tools.Refuse(tools.Validation, "give it once", "%s= stands there twice", w.key)
		}
		_, values["$"+w.key], _ = strings.Cut(w.text, "=")
	}
	places := 0
	for _, p := range used {
		if n, err := strconv.Atoi(p[1:]); err == nil {
			places = max(places, n)
		}
	}
	whole := slices.Contains(used, "$ARGUMENTS")
	if err := fits(name, list, positional, places, whole || len(values) == 1 && places == 0); err != nil {
		return "", err
	}
	for i, w := range positional[:min(len(positional), places)] {
		values["$"+strconv.Itoa(i+1)] = w.text
	}
	filled := replaced(place(), body, values)
	if places == 0 && !whole && len(values) == 1 {
		filled = strings.TrimRight(filled, "\n") + "\n\nArguments: " + args
	}
	return filled, nil
}

// fits refuses words that do not match the places. free means that any number of words is allowed.
func fits(name string, list, positional []word, places int, free bool) error {
	switch {
	case len(positional) < places:
		return tools.Refuse(tools.Validation, "for example: /"+name+strings.Repeat(" VALUE", places), "the skill %s takes %d arguments, and %d came", name, places, len(positional))
	case len(positional) == places || free:
		return nil
	case places == 0 && len(list) == len(positional):
		return tools.Refuse(tools.Validation, "say /"+name+" alone, or with name=value", "the skill %s takes no such arguments", name)
	}
	return tools.Refuse(tools.Validation, "put quotes around what belongs together: /"+name+suggested(list, places), "the arguments are ambiguous: %d words for %d places", len(positional), places)
}

// suggested joins the surplus words with the last word that has a place.
func suggested(list []word, places int) string {
	var out []string
	n, open := 0, false
	for _, w := range list {
		text := w.text
		switch {
		case w.key != "":
			open = true
		case n < places && !open:
			n++
			open = n == places
		case len(out) > 0:
			out[len(out)-1] += " " + text
			continue
		}
		out = append(out, text)
	}
	line := ""
	for _, one := range out {
		key, value, named := strings.Cut(one, "=")
		switch {
		case !strings.Contains(one, " "):
			line += " " + one
		case named && !strings.Contains(key, " "):
			line += " " + key + "=" + quoted(value)
		default:
			line += " " + quoted(one)
		}
	}
	return line
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `'`) + `"` }

// replaced fills all places in one pass, so that a value is never itself filled. Places without a value stay.
func replaced(form *regexp.Regexp, body string, values map[string]string) string {
	return form.ReplaceAllStringFunc(body, func(p string) string {
		if p == `\$` {
			return "$"
		}
		if v, ok := values[p]; ok {
			return v
		}
		return p
	})
}

// words splits arguments at blanks. Quotes hold a word together: "two words", 'two words', key="two words".
func words(s string) (list []word, err error) {
	var text strings.Builder
	var w word
	var quote rune
	began := false
	end := func() {
		if !began {
			return
		}
		w.text = text.String()
		if key, _, ok := strings.Cut(w.text, "="); ok && keyForm().MatchString(key) {
			w.key = key
		}
		list = append(list, w)
		text.Reset()
		w, began = word{}, false
	}
	for _, c := range s {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			text.WriteRune(c)
		case (c == '"' || c == '\'') && (!began || strings.HasSuffix(text.String(), "=")):
			quote, began, w.quoted = c, true, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			end()
		default:
			began = true
			text.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, tools.Refuse(tools.Validation, fmt.Sprintf("add %c at its end", quote), "a quote %c is not closed", quote)
	}
	end()
	return list, nil
}

var keyForm = sys.Regexp(`^[a-z][a-z0-9_]*$`)
