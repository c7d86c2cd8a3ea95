package entry

const callSeccomp = 317 // seccomp(2)
