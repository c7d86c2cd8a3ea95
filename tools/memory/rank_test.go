package memory_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/tools/memory"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                 nil,
		"--- ** __":                        nil,
		"The Dentist's number: 030-12 34":  {"the", "dentist", "number", "030", "12", "34"},
		"cities, ponies & buses":           {"city", "pony", "buse"},
		"shoes, trees, houses, glass, bus": {"shoe", "tree", "house", "glass", "bus"},
		"Straße ÄRGER é":                   {"straße", "ärger", "é"},
		"it’s parents' 'quoted'":           {"it", "parent", "quoted"},
		"東京 go1.26":                        {"東", "京", "go1", "26"},
	} {
		if got := memory.Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestScore compares with the formula, worked out by hand: 3 texts of 4, 2 and 6 words (4 on average); "dentist" stands in one, "anna" in
// two. The weights are ln(1 + 2.5/1.5) and ln(1 + 1.5/2.5).
func TestScore(t *testing.T) {
	texts := []string{"dentist of anna monday", "anna sings", "nothing of what is sought here"}
	w1, w2 := math.Log(1+2.5/1.5), math.Log(1+1.5/2.5)
	gain := func(tf, size float64) float64 { return tf * 2.2 / (tf + 1.2*(0.25+0.75*size/4)) }
	perfect := (w1 + w2) * gain(1, 2)
	want := []memory.Ranked{{Text: 0, Score: (w1 + w2) * gain(1, 4) / perfect}, {Text: 1, Score: w2 * gain(1, 2) / perfect}}
	got := memory.Rank("anna dentist", texts)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i].Text != want[i].Text || math.Abs(got[i].Score-want[i].Score) > 1e-12 {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestRank(t *testing.T) {
	texts := []string{"Anna's birthday is the 3rd of May", "the cat is called Ada", "Wi-Fi: the password is with Anna", "the the the", ""}
	for _, q := range []struct {
		query string
		want  []int
	}{
		{"when is Anna's birthday?", []int{0, 2}},
		{"birthdays", []int{0}},
		{"wifi", nil},
		{"wi fi", []int{2}},
		{"the", []int{3, 1, 0, 2}}, // only filler: taken as it is; the shorter text first, of equals the earlier one
		{"what is the cat", []int{1}},
		{"", nil},
		{"?!", nil},
	} {
		var got []int
		for _, h := range memory.Rank(q.query, texts) {
			got = append(got, h.Text)
		}
		if !slices.Equal(got, q.want) {
			t.Errorf("%q: %v, want %v", q.query, got, q.want)
		}
	}
	if got := memory.Rank("anna", nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	if got := memory.Rank("anna", []string{"", ".."}); got != nil {
		t.Errorf("of texts without words: %v", got)
	}
	for _, query := range []string{"Anna", "cat Ada"} {
		if got := memory.Rank(query, []string{query, "some other text", "and one more"}); len(got) != 1 || math.Abs(got[0].Score-1) > 1e-12 {
			t.Errorf("%q in itself: %+v, want a score of 1", query, got)
		}
	}
}

// TestScoresAreShares holds for any texts: scores are above 0 and at most 1, in falling order, the same each time, and more of the
// query's words in a text of the same length is never worth less.
func TestScoresAreShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"anna", "ada", "cat", "dog", "tea", "sea", "the"})
		line := rapid.Map(rapid.SliceOfN(word, 0, 8), func(w []string) string { return strings.Join(w, " ") })
		texts := rapid.SliceOfN(line, 0, 12).Draw(t, "texts")
		query := line.Draw(t, "query")
		first := memory.Rank(query, texts)
		for i, h := range first {
			if h.Score <= 0 || h.Score > 1 || i > 0 && h.Score > first[i-1].Score {
				t.Fatalf("%d: %+v", i, first)
			}
		}
		if again := memory.Rank(query, texts); !slices.Equal(first, again) {
			t.Fatalf("%v and then %v", first, again)
		}
		score, all := map[int]float64{}, len(texts)+1
		for _, h := range memory.Rank("ada anna", append(texts, "anna x", "anna ada")) {
			score[h.Text] = h.Score
		}
		if score[all] < score[all-1] {
			t.Fatalf("one word of two is worth %v, both %v", score[all-1], score[all])
		}
	})
}

func FuzzSearch(f *testing.F) {
	f.Add("Anna's cat\n\nthe dog", "when is the cat")
	f.Add("\xff'’東", "’'")
	f.Fuzz(func(t *testing.T, text, query string) {
		for _, h := range memory.Rank(query, strings.Split(text, "\n")) {
			if !(h.Score > 0 && h.Score <= 1) {
				t.Fatalf("%+v", h)
			}
		}
	})
}

// BenchmarkSearch is a query over a big memory: 2,000 texts of 60 words.
func BenchmarkSearch(b *testing.B) {
	texts := make([]string, 2000)
	for i := range texts {
		var line strings.Builder
		for k := range 60 {
			fmt.Fprintf(&line, "word%d ", (i*31+k*k*7)%3000)
		}
		texts[i] = line.String()
	}
	for b.Loop() {
		memory.Rank("word12 word99 word1000", texts)
	}
}
