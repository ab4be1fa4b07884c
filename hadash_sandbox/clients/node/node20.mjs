// What @platformatic/kafka takes from Node 22, for Node 20: imported before it.
//
// (Its versions for Node 20, all of 1, know METADATA 9 and later only, which a Gateway does not offer: see kinds.py. So
// do those of 2 up to 2.7.)

Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((...both) => { [resolve, reject] = both })
  return { promise, resolve, reject }
}
