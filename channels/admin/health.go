package admin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hob/channels"
	"hob/daemon/sys"
)

// HealthNotice is what was reported about a channel's health. It is stored, so that a fault is reported once
// and not at each start. Recovery is not reported: the waiting messages arrive then, and on an unstable
// network it would double the notices.
type HealthNotice struct {
	Fingerprint  string `json:"print"`           // fingerprint of the section; with another one, reporting starts again
	HasReceived  bool   `json:"heard,omitempty"` // it has received with this section
	HasSent      bool   `json:"sent,omitempty"`  // it has sent with this section
	NotReceiving bool   `json:"deaf,omitempty"`  // a notice said that it does not receive, and it has not received since
	NotSending   bool   `json:"mute,omitempty"`  // the same for sending
}

// After returns the state after a change of health, and the notice to send, "" for none. Failed receiving is always reported. Sending that
// fails at the same time is the same fault and gets no notice of its own. On a channel that has never worked, a failure of either direction
// is the same fault too.
func (t HealthNotice) After(h channels.ChannelHealth) (HealthNotice, string) {
	if t.Fingerprint != h.Fingerprint {
		t = HealthNotice{Fingerprint: h.Fingerprint}
	}
	t.HasReceived, t.HasSent = t.HasReceived || h.Receiving.Proven, t.HasSent || h.Sending.Proven
	t.NotReceiving, t.NotSending = t.NotReceiving && !works(h.Receiving), t.NotSending && !works(h.Sending)
	never := !t.HasReceived && !t.HasSent
	switch {
	case h.Receiving.State == channels.Down && !t.NotReceiving:
		t.NotReceiving = true
		if never && t.NotSending {
			return t, ""
		}
		return t, faultText(h.Name, never, t.HasReceived, "receive", h.Receiving.LastError)
	case h.Sending.State == channels.Down && !t.NotReceiving && !t.NotSending:
		t.NotSending = true
		return t, faultText(h.Name, never, t.HasSent, "send", h.Sending.LastError)
	}
	return t, ""
}

// works reports whether one direction is known to work. That nothing has failed yet is not enough.
func works(d channels.Direction) bool { return d.Proven && d.State == channels.OK }

func faultText(name string, never, before bool, what, why string) string {
	how := "does not " + what
	switch {
	case never:
		how = "does not work"
	case before:
		how = "no longer " + what + "s"
	}
	return fmt.Sprintf("Channel %s %s: %s. hob keeps trying. Its section is [channels.%s] in config.toml; hob channels test %s tests it.",
		name, how, strings.TrimRight(why, "."), name, name)
}

// HealthNotices are the notices of all channels, by name, as they are stored.
type HealthNotices map[string]HealthNotice

// ReadHealthNotices parses a text that String made; "" is empty.
func ReadHealthNotices(text string) (HealthNotices, error) {
	return readStored[HealthNotice](text, "health notices")
}

// String returns the stored form.
func (t HealthNotices) String() string { return stored(t) }

// Only drops the channels that are not in names.
func (t HealthNotices) Only(names []string) {
	maps.DeleteFunc(t, func(name string, _ HealthNotice) bool { return !slices.Contains(names, name) })
}

// NewLines returns the lines that are not in known, and the new known. A line that was only moved in the config is not new. A line that was
// missing for a while is.
func NewLines(known string, lines []string) (now string, news []string) {
	before := strings.Fields(known)
	var names []string
	for _, line := range lines {
		name := sys.Digest(regexp.MustCompile(`:\d+`).ReplaceAllString(line, ""))
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if !slices.Contains(before, name) {
			news = append(news, line)
		}
	}
	return strings.Join(names, " "), news
}
