package fsguard

// The patterns that SecretName stands for.
var (
	SecretFolders = secretFolders
	SecretNames   = secretNames
)
