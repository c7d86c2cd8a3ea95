package secret_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hob/daemon/secret"
)

// hostile are secrets whose value looks like a part of a document, or needs escapes in one.
var hostile = []string{
	`","turn":`, `":"","`, `{"text":`, `\u0041BCDE`, `ABCDEF\`, `"quoted"`, `\\\\\\`, "first\nsecond\n", "a\tb\x00c\x7fd", "😀😀", "é\u2028à<&>", `"}],"more":[{"`, `123456`, `-1.5e10`, "session",
	"falsetrue", `\n\n\n`, "[secret x]", `]}]}]}`, `\"\"\"`,
}

// strs are all texts of a decoded document.
func strs(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = []string{v}
	case []any:
		for _, one := range v {
			all = append(all, strs(one)...)
		}
	case map[string]any:
		for key, one := range v {
			all = append(append(all, key), strs(one)...)
		}
	case json.Number:
		all = []string{v.String()}
	}
	return all
}

// Whatever a secret looks like, the document stays valid, no text or number in it has the secret, and the rest is what it was.
func TestHostileSecretsInJSON(t *testing.T) {
	for i, value := range hostile {
		var r secret.Redactor
		r.Add("x", value)
		value = strings.TrimSpace(value)
		escaped := "" // every character as an escape, as another program may write it
		for _, c := range value {
			if c < 1<<16 {
				escaped += fmt.Sprintf(`\u%04x`, c)
			} else {
				escaped += string(c)
			}
		}
		inner, err := json.Marshal(map[string]string{"key": value})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(map[string]any{
			"seq": 7, "text": "it is " + value + ", yes", "turn": true, value: 1, "args": string(inner), "raw": json.RawMessage(`"<` + escaped + `>"`), "list": []any{nil, value, "", "\\", 1.5},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := secret.JSON(raw, r.Text)
		var doc map[string]any
		if err == nil {
			d := json.NewDecoder(strings.NewReader(string(got)))
			d.UseNumber()
			err = d.Decode(&doc)
		}
		if err != nil {
			t.Errorf("%d %q: %v in %s", i, value, err, got)
			continue
		}
		for _, s := range strs(doc) {
			if strings.Contains(s, value) && value != "[secret x]" {
				t.Errorf("%q is shown in %q", value, s)
			}
		}
		if doc["text"] != "it is [secret x], yes" || doc["seq"] != json.Number("7") || doc["turn"] != true || doc["raw"] != "<[secret x]>" || !reflect.DeepEqual(doc["list"], []any{nil, "[secret x]", "", `\`, json.Number("1.5")}) {
			t.Errorf("%q: %s", value, got)
		}
	}
}

// A number that is a secret becomes null. A document without secrets stays as it is, byte by byte.
func TestNumbersAndOthersInJSON(t *testing.T) {
	var r secret.Redactor
	r.Add("pin", "471147")
	r.Add("key", "98765432")
	for raw, want := range map[string]string{
		`{"pin":471147,"no":47114}`:          `{"pin":null,"no":47114}`,
		`[471147.5,"471147.5",1471147]`:      `[null,"[secret pin].5",1471147]`,
		`[198765432.5,"198765432.5"]`:        `[null,"1[secret key].5"]`,
		"{ \"a\" : [ \"\\u003c\\/\" ] }\n\t": "{ \"a\" : [ \"\\u003c\\/\" ] }\n\t",
		`471147`:                             `null`,
		`"\ud800"`:                           `"\ud800"`,
		`[]`:                                 `[]`,
		``:                                   ``,
	} {
		if got, err := secret.JSON([]byte(raw), r.Text); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", raw, got, err, want)
		}
	}
}

// FuzzJSON: a valid document stays valid, and has no secret.
func FuzzJSON(f *testing.F) {
	for _, value := range hostile {
		f.Add(value, `{"a":["\u0041BCDEF`+"\",123456,{}]}")
	}
	f.Fuzz(func(t *testing.T, value, raw string) {
		var r secret.Redactor
		if !json.Valid([]byte(raw)) || !r.Add("x", value) {
			return
		}
		got, err := secret.JSON([]byte(raw), r.Text)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%q in %s: %s, %v", value, raw, got, err)
		}
	})
}
