package daemon

import (
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
	web := func(named string) (http.RoundTripper, error) {
		return toolset.AccountClient(d.config()).Transport(named), nil
	}
	client := func() *netguard.Client { return toolset.AccountClient(d.config()) }
	s := account.New(account.Config{Kinds: accountall.Kinds(web, client), Vault: newVault(d.opt, d.network, d.log), Redact: &d.secrets, Log: d.log})
	t.Calendars, t.Usage, t.LinkedIn = s, accountall.Usage(s), accountall.LinkedIn(s)
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
	}
}
