package entry

const callSeccomp = 277 // seccomp(2)
