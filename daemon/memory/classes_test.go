package memory_test

import (
	"fmt"
	"strings"
	"testing"
)

// jottings are notes of an owner, one fact a line, in three languages.
const jottings = `# Leute

- Frau Müller von nebenan gießt die Blumen, Tel. 0171 / 234 56 78.
- Onkel Jürgen wohnt in Köln, Gleueler Straße 12, 50935.
- Die Kinderärztin heißt Dr. Özdemir, Sprechstunde nur vormittags.
- Der Schornsteinfeger kommt immer im März.
- Der Hausmeister hat den Schlüsselbund für den Fahrradkeller.

# People

- Lena's godmother is Margaret O'Sullivan; she lives in Galway.
- Bob prefers oat milk and hates coriander.
- My brother-in-law Piotr fixes bicycles, +48 601 223 344.
- The vet is Dr. Abernathy-Jones on Mill Lane.
- Grandpa's hearing aid uses size 312 batteries.

# Things

- WLAN-Passwort der Ferienwohnung: sonnenblume77
- The wifi at the office is called Kestrel-5G.
- Garage remote: 27A battery, 12 V.
- Kaffeemaschine entkalken: alle 200 Tassen, zuletzt am 03.06.2026.
- Die Rauchmelder piepsen, wenn die Batterie leer ist; 9-V-Block kaufen.
- The dishwasher shows E24 when the drain is blocked.
- Tyre pressure: 2.4 bar front, 2.6 bar rear.
- Serial number of the laptop: C02-XK9-77Q.
- License plate of the new car: M-AB 1234.

# Money

- Miete: 1.250 € warm, Dauerauftrag am Ersten.
- Kfz-Versicherung läuft am 30.11. ab, Kündigungsfrist ein Monat.
- IBAN of the landlord: DE89 3704 0044 0532 0130 00.
- Netflix subscription renews on the 14th, 13.99 a month.
- Steuerberaterin: Kanzlei Hölzl, Mandantennummer 40711.

# Dates

- Wedding anniversary: 21 August 2009.
- Parents' evening on Thursday, 12 Nov 2026, 7pm, room B104.
- Emma was born on 2015-04-09 at 3:20 in the morning.
- Die Zwillinge werden am ersten Mai eingeschult.
- Passport appointment: 09/12/2026 at the Bürgeramt.

# Preferences

- I sit at the aisle on planes, never at the window.
- Ich trinke meinen Kaffee schwarz, ohne Zucker.
- No meetings before ten o'clock.
- We don't eat pork; Samira is a vegetarian.

# 日本語

- 歯医者の予約は来週の火曜日、午後三時です。
- 母の誕生日は五月十日。
- パスワードは金庫の中にあります。
- 東京のアパートの家賃は九万八千円です。
- 犬の名前はポチ、柴犬です。
- ゴミの日は月曜日と木曜日。
`

// classes are questions in other words than the notes, by what is different: each must find its line.
const classes = `number: phone number of Frau Müller | 0171 / 234 56 78
number: 01712345678 | Frau Müller
number: 0171-2345678 | Frau Müller
number: +48601223344 | Piotr
number: DE89370400440532013000 | landlord
number: whose IBAN is DE89 3704 | landlord
number: C02XK977Q | laptop
number: MAB1234 | License plate
number: M AB 1234 | License plate
number: rent 1250 | Miete
number: 9V Block | Rauchmelder
number: 312 battery | hearing aid
date: anniversary 21.08.2009 | 21 August 2009
date: when was Emma born, 9 April 2015? | 2015-04-09
date: what is on November 12? | Parents' evening
date: was ist am 30. November | Kfz-Versicherung
date: 3. Juni 2026 | Kaffeemaschine
umlaut: Mueller Blumen | Frau Müller
umlaut: Muller | Frau Müller
umlaut: Juergen | Jürgen
umlaut: Onkel Jurgen Koeln | Jürgen
umlaut: Strasse von Onkel Jürgen | Gleueler
umlaut: Oezdemir | Özdemir
umlaut: Kanzlei Hoelzl | Hölzl
umlaut: Buergeramt | Bürgeramt
umlaut: giessen | gießt die Blumen
plural: chimney Schornsteinfegers | Schornsteinfeger
plural: who fixes my bicycle | Piotr
plural: Ärztin der Kinder | Özdemir
plural: Schlüssel vom Fahrradkeller | Hausmeister
plural: Melder piept | Rauchmelder
plural: Zwilling Einschulung | Zwillinge
plural: Versicherungen vom Auto Kfz | Kfz-Versicherung
compound: Keller fürs Fahrrad | Hausmeister
compound: Passwort vom WLAN | sonnenblume77
compound: Maschine für Kaffee entkalken | Kaffeemaschine
compound: Frist Kündigung | Kündigungsfrist
compound: Nummer des Mandanten | 40711
compound: wi-fi office | Kestrel-5G
compound: Wohnung Ferien | sonnenblume77
compound: dish washer error | E24
compound: brother in law phone | Piotr
compound: OSullivan | Galway
compound: Abernathy | vet
compound: licence plate | License plate
typo: Schornsteinfger | Schornsteinfeger
typo: aniversary | Wedding anniversary
typo: Margret OSullivan | Galway
typo: dishwaser | E24
typo: corriander | coriander
typo: Hausmiester | Hausmeister
typo: vegeterian | Samira
typo: subscribtion | Netflix
typo: Steuerberatrin | Hölzl
words: when do the twins start school Zwillinge | Zwillinge
words: does Bob like coriander | oat milk
words: window or aisle seat | aisle on planes
words: trinke ich Zucker im Kaffee | schwarz
words: earliest meeting time | before ten
words: tire pressure | 2.4 bar
words: does Samira eat meat, is she vegetarian | Samira
japanese: 歯医者はいつ | 歯医者
japanese: お母さんの誕生日はいつですか | 母の誕生日
japanese: 金庫 | パスワード
japanese: 家賃はいくら | 九万八千円
japanese: 犬の名前は何ですか | ポチ
japanese: ごみの日はいつ | ゴミの日
japanese: ポチ | 柴犬
japanese: ﾊﾟｽﾜｰﾄﾞ | 金庫`

// TestClassesOfQuestions asks for facts in other words than they were noted in.
func TestClassesOfQuestions(t *testing.T) {
	f := newFixture(t)
	f.put(t, "memory/jottings.md", jottings)
	f.put(t, "memory/book.md", texts(t)["memory/book.md"])
	found, all, missed := map[string]int{}, map[string]int{}, map[string]int{}
	for line := range strings.Lines(classes) {
		class, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		ask, answer, _ := strings.Cut(rest, " | ")
		all[class]++
		r := f.search(t, ask)
		ok := false
		for _, p := range r.Passages {
			ok = ok || p.Path == "memory/jottings.md" && strings.Contains(p.Text, answer)
		}
		if ok {
			found[class]++
			continue
		}
		missed[class]++
		t.Logf("missed: %s: %s (%s): %.150q", class, ask, answer, places(r))
	}
	t.Log(fmt.Sprint("found ", found, " of ", all))
	for class, n := range missed {
		if n > all[class]/8 {
			t.Errorf("%s: %d of %d are missed", class, n, all[class])
		}
	}
}

// Parts of words are kept once for windows that overlap: each word is still found by a part of it.
func TestPartsOfWords(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "- entry of a list %s with qx%dkestrelzz inside\n", strings.Repeat("and more ", i%9), i)
		if i%40 == 39 {
			b.WriteString("\n# Heading\n\nqy" + fmt.Sprint(i) + "kestrelzz stands in a paragraph\n\n")
		}
	}
	f.put(t, "memory/list.md", b.String())
	for i := range 300 {
		word := fmt.Sprintf("%dkestrel", i)
		if r := f.search(t, word); len(r.Passages) == 0 || !strings.Contains(r.Passages[0].Text, word) {
			t.Errorf("%s is not found: %q", word, places(r))
		}
	}
}
