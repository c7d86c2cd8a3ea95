package matrix

import (
	"encoding/json"

	"hob/channels"
)

// Read converts an answer of /sync like Run does, for an account: private is the private room with other; all
// other rooms are groups.
func (c *Channel) Read(raw []byte, me, private, other string) ([]channels.Message, error) {
	var news synced
	if err := json.Unmarshal(raw, &news); err != nil {
		return nil, err
	}
	r := &reader{channel: c, me: account{ID: me}, places: map[string]place{}}
	r.account(&news)
	var list []channels.Message
	for room, j := range news.Rooms.Join {
		r.changed(room, j)
		p := place{by: other, members: map[string]string{me: "join", other: "join"}}
		if room != private {
			p.members["@third:hob.test"] = "join"
		}
		happened, _ := r.since(j.Timeline.Events)
		for _, e := range happened {
			if e.Key != nil {
				continue
			}
			if m, ok := r.message(room, p, e); ok {
				list = append(list, m)
			}
		}
	}
	return list, nil
}
