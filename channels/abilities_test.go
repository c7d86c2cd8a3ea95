package channels_test

import (
	"context"
	"testing"

	"hob/channels"
	"hob/channels/markup"
	"hob/daemon/event"
)

// able has every ability.
type able struct {
	ear
	channels.Audience
}

func (*able) Form() markup.Form                                             { return markup.Slack() }
func (*able) Typing(context.Context, event.Address) error                   { return nil }
func (*able) Edit(context.Context, channels.Delivery, string) error         { return nil }
func (*able) Buttons() bool                                                 { return true }
func (*able) MaxFile() int64                                                { return 5 << 20 }
func (*able) Account(context.Context) (string, error)                       { return "me", nil }
func (*able) Find(context.Context, channels.Delivery) (string, bool, error) { return "", false, nil }

// nonced may or may not deduplicate by nonce.
type nonced struct {
	able
	is bool
}

func (k *nonced) DedupsByNonce() bool { return k.is }

func TestAbilitiesAreThoseThatAnAdapterHas(t *testing.T) {
	all := channels.Abilities{
		Form: "slack", Limit: 4000, Groups: true, Typing: true, Edits: true, Buttons: true, MaxFile: 5 << 20, Repeats: channels.ByLook, Account: true,
	}
	byKey := all
	byKey.Repeats = channels.ByKey
	for _, tc := range []struct {
		name string
		ch   channels.Channel
		want channels.Abilities
	}{
		{"none", &ear{}, channels.Abilities{Form: "plain", Limit: 4000, Repeats: channels.Marked}},
		{"all", &able{}, all},
		{"a key goes before a look", &nonced{is: true}, byKey},
		{"a key that is not on", &nonced{}, all},
	} {
		if got := channels.AbilitiesOf(tc.ch); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
