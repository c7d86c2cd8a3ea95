package all

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"

	"hob/daemon/account"
	"hob/daemon/account/caldav"
	"hob/daemon/account/google"
	"hob/daemon/oauth"
)

// googleKind is the owner's mail and calendars at Google.
func googleKind(web caldav.Web, state string) account.Kind {
	save := func(s google.Settings) (account.State, error) {
		raw, err := json.Marshal(s) // #nosec G117 -- it goes to the vault
		about := account.About{User: s.Address, URL: "Google", Has: s.Has()}
		return account.State{Stored: raw, Secrets: []string{s.ClientSecret}, About: about}, err
	}
	open := func(raw json.RawMessage, signIn *oauth.Account) (*google.Account, error) {
		s, err := google.Parse(raw)
		if err != nil {
			return nil, err
		}
		trip, err := web(server(s))
		return google.Open(s, google.Parts{Web: trip, SignIn: signIn, Journal: filepath.Join(state, "mail")}), err
	}
	return account.Kind{
		Name: google.Name, Calendar: true,
		Fields: []account.Field{{Name: "client-id"}, {Name: "client-secret", Secret: true}, {Name: "mail"}, {Name: "calendar"}, {Name: "server", Optional: true}},
		Connect: func(_ context.Context, v map[string]string) (account.State, error) {
			s, err := google.New(v)
			if err != nil {
				return account.State{}, err
			}
			return save(s)
		},
		Linked: &account.Linked{
			Config: func(raw json.RawMessage) (oauth.Config, error) {
				s, err := google.Parse(raw)
				if err != nil {
					return oauth.Config{}, err
				}
				trip, err := web(server(s))
				c := google.SignIn(s)
				c.HTTP = &http.Client{Transport: trip}
				return c, err
			},
			Renew: func(ctx context.Context, raw json.RawMessage, signIn *oauth.Account) (account.State, error) {
				a, err := open(raw, signIn)
				if err != nil {
					return account.State{}, err
				}
				s, err := a.Check(ctx)
				if err != nil {
					return account.State{}, err
				}
				return save(s)
			},
			Open: func(raw json.RawMessage, signIn *oauth.Account) (any, error) { return open(raw, signIn) },
		},
	}
}

// server is the host that may be on this machine.
func server(s google.Settings) string {
	u, err := url.Parse(s.Server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
