package sqlite

import "context"

// CheckAndSum checks a copy and returns its digest.
func CheckAndSum(ctx context.Context, path string) (string, error) { return checkAndSum(ctx, path) }
