package codex

// Claims are what a token says of itself.
func Claims(token string) (account, email string, expires float64) {
	c := claimsOf(token)
	return c.Auth.Account, c.Email, c.Expires
}
