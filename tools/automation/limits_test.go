package automation_test

import (
	"reflect"
	"testing"

	"hob/tools/automation"
)

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]automation.Limits{
		"":                             {},
		"tools=read,grep tokens=20000": {Tools: []string{"read", "grep"}, Tokens: 20_000, OfTools: true, OfTokens: true},
		" tokens=20000\n tools=read ":  {Tools: []string{"read"}, Tokens: 20_000, OfTools: true, OfTokens: true},
		"tools=read":                   {Tools: []string{"read"}, OfTools: true},
		"tokens=20000":                 {Tokens: 20_000, OfTokens: true},
		"tools=all":                    {OfTools: true},
		"tokens=none":                  {OfTokens: true},
		"none":                         {OfTools: true, OfTokens: true},
	} {
		if got, err := automation.ParseLimits(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"read", "tools=", "tokens=", "tokens=many", "tokens=1e9", "tools=a tools=b", "tokens=5000 tokens=6000", "all", "none tokens=1", "token=1"} {
		if got, err := automation.ParseLimits(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// Whatever is written, a part is given or it is not: nothing limits by mistake, and nothing that was given is lost.
func FuzzParseLimits(f *testing.F) {
	for _, text := range []string{"none", "tools=a,b tokens=2000", "tokens=-1", "tools=,", "tools=all tokens=none"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := automation.ParseLimits(text)
		if err != nil {
			l2 := automation.Limits{}
			if !reflect.DeepEqual(l, l2) {
				t.Errorf("%q: %v, and %+v", text, err, l)
			}
			return
		}
		if len(l.Tools) > 0 && !l.OfTools || l.Tokens != 0 && !l.OfTokens {
			t.Errorf("%q: %+v", text, l)
		}
	})
}
