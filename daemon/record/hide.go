package record

import (
	"encoding/json"
	"strings"

	"hob/daemon/secret"
	"hob/daemon/sys"
)

// credential finds values that are secret by their name, in JSON, in addresses and in forms: hob may not know them, such as the answer of a
// sign-in, or the token and the address by which anyone may answer the press of a button.
var credential = sys.Regexp(`(?i)("(?:token|response_url|access_token|refresh_token|id_token|client_secret|api_?key|password|authorization)"\s*:\s*")(?:\\.|[^"\\])+` +
	`|((?:^|[?&])(?:access_token|refresh_token|id_token|client_secret|password|api_?key|key|token|ticket|sig|signature)=)[^"&\s]+|(/interactions/[^"/\s]+/)[^"/\s]+`)

// hidden returns a text without secrets: as they stand, written with escapes in JSON, or in pieces over the events of a stream.
func (r *Recorder) hidden(text string) string {
	text = credential().ReplaceAllString(r.Hide(text), "${1}${2}${3}[secret]")
	if json.Valid([]byte(text)) {
		clean, _ := secret.JSON([]byte(text), r.Hide) // it is valid
		return string(clean)
	}
	return r.joined(text)
}

// piece is a text in a document of a stream.
type piece struct {
	from, to int // where it is, with its quotes
	key      string
	text     string
	changed  bool
}

// part finds the texts, names and numbers of documents, and the ends of lines.
var part = sys.Regexp(`"((?:\\.|[^"\\\n])*)"(\s*:)?|\d+|\n`)

// joined hides secrets in the pieces of a stream. Pieces belong together if they have the same key and the same index, because several calls
// come side by side. The index is the last one before the piece, or all of the event: servers write it before or after the piece. The first
// piece gets the joined text.
func (r *Recorder) joined(text string) string {
	var all, event []*piece
	groups := map[string][]*piece{}
	key, index, last := "", "", ""
	end := func() {
		for _, p := range event {
			groups["event "+index+p.key] = append(groups["event "+index+p.key], p)
		}
		event, key, index, last = nil, "", "", ""
	}
	for _, at := range part().FindAllStringSubmatchIndex(text, -1) {
		p := &piece{from: at[0], to: at[1], key: key}
		switch found := text[at[0]:at[1]]; {
		case found == "\n":
			end()
		case at[4] >= 0:
			key = text[at[2]:at[3]]
		case found[0] != '"' && strings.HasSuffix(key, "index"):
			index, last = index+found+".", found
		case found[0] == '"' && json.Unmarshal([]byte(found), &p.text) == nil:
			all, event = append(all, p), append(event, p)
			groups[last+key] = append(groups[last+key], p)
		}
	}
	end()
	for _, list := range groups {
		r.join(list)
	}
	var b strings.Builder
	done := 0
	for _, p := range all {
		if p.changed {
			clean, _ := json.Marshal(p.text) // a text always can be
			b.WriteString(text[done:p.from] + string(clean))
			done = p.to
		}
	}
	return b.String() + text[done:]
}

// join moves the text of pieces into the first one if it has a secret, which is hidden there.
func (r *Recorder) join(list []*piece) {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.text)
	}
	if clean := r.Hide(b.String()); clean != b.String() {
		for i, p := range list {
			p.text, p.changed = "", true
			if i == 0 {
				p.text = clean
			}
		}
	}
}
