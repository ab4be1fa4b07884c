// A function of Node 22 that @platformatic/kafka needs, for Node 20. It has to be imported first.
//
// (The versions of @platformatic/kafka for Node 20, all of 1, and those of 2 up to 2.7, know only METADATA 9 and later,
// which a Gateway does not offer: see kinds.py.)

Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((...both) => { [resolve, reject] = both })
  return { promise, resolve, reject }
}
