package spec_test

import (
	"strings"
	"testing"
	"time"

	"hob/scheduler/spec"
)

func TestReadPeriod(t *testing.T) {
	for text, want := range map[string]struct {
		period time.Duration
		words  int
	}{
		"20 minutes":                {20 * time.Minute, 2},
		"20 minutes later":          {20 * time.Minute, 2},
		"1h30m":                     {90 * time.Minute, 1},
		"1.5h":                      {90 * time.Minute, 1},
		"an hour":                   {time.Hour, 2},
		"an hour and a half":        {90 * time.Minute, 5},
		"two hours and a half":      {150 * time.Minute, 5},
		"1 hour and 30 minutes":     {90 * time.Minute, 5},
		"1 hour , 30 minutes":       {90 * time.Minute, 5},
		"1 hour and then":           {time.Hour, 2},
		"half an hour":              {30 * time.Minute, 3},
		"half hour":                 {30 * time.Minute, 2},
		"half a day":                {12 * time.Hour, 3},
		"a quarter of an hour":      {15 * time.Minute, 5},
		"quarter hour":              {15 * time.Minute, 2},
		"ninety minutes":            {90 * time.Minute, 2},
		"a week":                    {7 * 24 * time.Hour, 2},
		"2 fortnights":              {28 * 24 * time.Hour, 2},
		"1d12h":                     {36 * time.Hour, 1},
		"99999999999999999999 days": {spec.LongestPeriod + time.Second, 2},
		"half past 7":               {},
		"quarter to 8":              {},
		"7":                         {},
		"hours":                     {},
		"a minute's walk":           {},
		"-5 m":                      {},
		"":                          {},
	} {
		period, words := spec.ReadPeriod(strings.Fields(text))
		if period != want.period || words != want.words {
			t.Errorf("%q: got %v in %d words, want %v in %d", text, period, words, want.period, want.words)
		}
	}
}

func TestNumber(t *testing.T) {
	for word, want := range map[string]int{"0": 0, "7": 7, "0007": 7, "seven": 7, "twenty": 20, "thirty": 30, "ninety": 90} {
		if n, ok := spec.Number(word); !ok || n != want {
			t.Errorf("%q: got %d, %v", word, n, ok)
		}
	}
	for _, word := range []string{"", "-1", "1.5", "00007", "hundred", "first", "٣"} {
		if n, ok := spec.Number(word); ok {
			t.Errorf("%q is read as %d", word, n)
		}
	}
}
