package daemon

import (
	"context"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/skills"
	"hob/daemon/toolset"
)

// capabilities returns what hob's summary of itself is made of, under the config in force.
func capabilities(live *toolset.Active, accepted *skills.Copies) func() skills.Facts {
	return func() skills.Facts { return skills.Facts{Guard: live.Guard(), Specs: live.Specs, Skills: accepted} }
}

// skillRoutes show, check, accept, add and remove skills, and write the summary of what hob can do.
func skillRoutes(d *daemon) []server.Route {
	s, facts := d.skills, capabilities(d.live, d.skills.Copies)
	return []server.Route{
		server.ListAll(api.Skills, s.List),
		server.Show(api.ShowSkill, s.Show),
		server.Do(api.TrustSkill, func(ctx context.Context, name string, in api.SkillHash) (api.Skill, error) {
			return s.Trust(ctx, name, in.Hash)
		}),
		server.DoPlain(api.RemoveSkill, s.Remove),
		server.DoOnly(api.AddSkill, s.Add),
		server.DoOnly(api.CheckSkill, s.Check),
		server.ShowOnly(api.ShowCapabilities, func(context.Context) (api.Text, error) {
			text, err := facts().Text()
			if err == nil && text == "" {
				err = event.NewFault(event.Missing, "hob capabilities refresh writes it", "there is no CAPABILITIES.md yet")
			}
			return api.Text{Text: text}, err
		}),
		server.DoOnly(api.RefreshCapabilities, func(context.Context, api.None) (api.Text, error) {
			text, err := facts().Refresh()
			return api.Text{Text: text}, err
		}),
	}
}
