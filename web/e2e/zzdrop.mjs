import { chromium } from 'playwright-core';
const [,, base, ...files] = process.argv;
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
for (const f of files) {
const page = await (await b.newContext()).newPage();
await page.goto(base); await page.waitForSelector('h1');
page.on('request', r => r.url().includes('/api/') && console.log(r.method(), r.url().slice(base.length, base.length+150)));
page.on('response', r => r.url().includes('/api/') && console.log(r.status(), r.url().slice(base.length, base.length+60)));
await page.locator('input[type=file]').first().setInputFiles(f);
await page.waitForTimeout(5000);
console.log('----');
}
await b.close();
