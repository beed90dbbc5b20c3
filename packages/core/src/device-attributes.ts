/** A client's description of a device; "" where it sent nothing. */
export interface DeviceAttributes {
  readonly pushToken: string;
  readonly name: string;
  readonly osName: string;
  readonly osVersion: string;
  readonly deviceManufacturer: string;
  readonly deviceModel: string;
  readonly lang: string;
  readonly type: "mobile" | "browser" | "desktop";
  readonly sdkVersion: string;
}
