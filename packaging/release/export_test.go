package main

type Entry = entry

var (
	Folder         = folder
	WriteTar       = writeTar
	WriteZip       = writeZip
	PackageVersion = packageVersion
	ParseTargets   = parseTargets
	LicenceTexts   = licenceTexts
	Authorities    = authorities
)
