package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/channels"
	"hob/daemon/api"
	"hob/daemon/event"
)

// Channels lists the channels of the config, by name.
func (s Service) Channels() []api.Channel {
	list := []api.Channel{}
	for _, h := range s.Health() {
		h = h.Shown()
		c := api.Channel{Name: h.Name, Kind: h.Kind, Unfit: h.Unfit, Receiving: h.Receiving, Sending: h.Sending, Owner: append([]string{}, s.Owners(h.Name)...), FormerOwners: append([]string{}, s.FormerPairings(h.Name)...), Groups: []string{}}
		if ch, err := s.Find(h.Name); err == nil {
			var a channels.Audience
			a, c.Pairs = channels.AudienceOf(ch)
			c.Groups = append(c.Groups, a.Groups...)
			if n, ok := ch.(channels.Nicknamed); ok {
				c.Nick = n.Nick()
			}
		}
		list = append(list, c)
	}
	return list
}

// Named returns one channel.
func (s Service) Named(name string) (api.Channel, error) {
	all := s.Channels()
	i := slices.IndexFunc(all, func(c api.Channel) bool { return c.Name == name })
	if i < 0 {
		_, _, err := s.find(name)
		if err == nil { // it is new, and the host has not opened it yet
			err = event.NewFault(event.Unavailable, "try again in a moment", "channel %s is being opened", name)
		}
		return api.Channel{}, err
	}
	return all[i], nil
}

// testTime is the time limit of a test.
const testTime = 30 * time.Second

// greeting is the message that a test sends.
const greeting = "hob can reach you here"

// Test runs the adapter's test. It sends a message only if in asks for one, and only to the owner.
func (s Service) Test(ctx context.Context, name string, in api.TestMessage) (api.ChannelTest, error) {
	ch, unfit, err := s.find(name)
	if err != nil {
		return api.ChannelTest{}, err
	}
	t := api.ChannelTest{Channel: name, Works: []string{}}
	if unfit != nil {
		t.Fault = s.Hide(unfit.Error())
		return t, nil
	}
	if t.Works, err = s.tried(ctx, name, ch); err != nil {
		t.Fault, t.Reason = s.Hide(err.Error()), channels.UnreachedBy(err)
		return t, nil
	}
	if in.Send != "true" {
		return t, nil
	}
	owners := s.Owners(name)
	if len(owners) == 0 {
		return t, event.NewFault(event.Clash, ways(name, ch), "there is nobody to send to: %s has no owner yet", name)
	}
	t.To = event.Address(name + ":" + owners[0])
	t.Outbox, err = s.Send(ctx, t.To, greeting)
	return t, err
}

// tried runs the adapter's own test; without one it reports the channel's health.
func (s Service) tried(ctx context.Context, name string, ch channels.Channel) ([]string, error) {
	if t, ok := ch.(channels.Tester); ok {
		ctx, stop := context.WithTimeout(ctx, testTime)
		defer stop()
		works, err := t.Test(ctx)
		return append([]string{}, works...), err
	}
	works := []string{"its section can be used"}
	for _, h := range s.Health() {
		if h.Name != name {
			continue
		}
		for what, side := range map[string]channels.Direction{"receiving": h.Receiving, "sending": h.Sending} {
			if side.State != channels.OK {
				return works, fmt.Errorf("%s is %s: %s", what, side.State, side.LastError)
			}
		}
		works = append(works, "receiving is ok", "sending is ok")
	}
	return works, nil
}
