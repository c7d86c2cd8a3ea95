package daemon

import (
	"context"
	"net/http"

	"hob/daemon/account"
	accountall "hob/daemon/account/all"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/netguard"
	"hob/daemon/toolset"
)

// newAccounts makes the service for the owner's accounts, and gives it to the tools. It reads no credential: the first call of a tool does.
func newAccounts(d *daemon, t *toolset.Deps) *account.Service {
	client := func() *netguard.Client {
		return netguard.NewClient(netguard.Config{Allow: d.config().Tools.Web.Prefixes(), Proxy: d.network.common})
	}
	web := func(named string) (http.RoundTripper, error) { return client().Transport(named), nil }
	s := account.New(account.Config{Kinds: accountall.Kinds(web, client, accountall.Google{State: d.opt.state(), Place: d.opt.google}), Vault: newVault(d.opt, d.network, d.log), Redact: &d.secrets, Log: d.log, Links: account.Links{
		Redirects: d.mcp.SignIns().Redirects(), Spawn: t.Spawn, Now: d.zone.now(d.clock), Answer: d.store.Settings.AnswerSignIn,
		Tell: func(ctx context.Context, key, text string) {
			if err := d.store.Events.Notice(ctx, key, d.secrets.Text(text)); err != nil && ctx.Err() == nil {
				d.log.Error("tell the owner about an account", "err", err)
			}
		},
	}})
	t.Calendars, t.Mail, t.Usage, t.LinkedIn = s, accountall.Mail(s), accountall.Usage(s), accountall.LinkedIn(s)
	return s
}

// accountRoutes show, add, test and remove accounts.
func accountRoutes(s *account.Service) []server.Route {
	return []server.Route{
		server.ListAll(api.LinkedAccounts, s.List),
		server.Show(api.ShowLinked, s.Show),
		server.Do(api.AddAccount, s.Add),
		server.DoPlain(api.TestAccount, s.Test),
		server.DoPlain(api.RemoveAccount, s.Remove),
		server.DoPlain(api.BeginAccountLogin, s.SignIns().Begin),
		server.DoPlain(api.AwaitAccountLogin, s.SignIns().Await),
		server.Do(api.FinishAccountLogin, s.SignIns().Finish),
		server.DoPlain(api.CancelAccountLogin, s.SignIns().Cancel),
	}
}
